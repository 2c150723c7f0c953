// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "tulle/io/formats.hpp"

#include <array>
#include <string_view>

#include "tulle/base/text.hpp"
#include "tulle/io/text.hpp"

namespace tulle::io {
namespace {

constexpr std::array formats{
    Format{".mtx", Contents::matrix_market, Packing::none, true},   Format{".mtx.gz", Contents::matrix_market, Packing::gz, true},
    Format{".mtx.xz", Contents::matrix_market, Packing::xz, false}, Format{".tar.gz", Contents::matrix_market, Packing::tar_gz, false},
    Format{".tgz", Contents::matrix_market, Packing::tar_gz, false}, Format{".npz", Contents::npz, Packing::none, true},
    Format{".smtx", Contents::smtx, Packing::none, true},           Format{".smtx.gz", Contents::smtx, Packing::gz, true},
    Format{".smtx.xz", Contents::smtx, Packing::xz, false},         Format{".tulle", Contents::binary, Packing::none, true},
};

}  // namespace

const Format& format_of(const std::filesystem::path& file)
{
    const std::string name = lower(file.filename().string());
    std::string known;
    for (const Format& format : formats) {
        if (name.ends_with(format.ending)) return format;
        known += std::string(" ") + format.ending;
    }
    throw FileError(concat(file.string(), ": the end of the name says no format that tulle knows"), "known are" + known);
}

}  // namespace tulle::io

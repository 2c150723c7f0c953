// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "io/part.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "io/formats.hpp"
#include "io/formats/binary.hpp"
#include "io/formats/matrix_market_part.hpp"
#include "io/formats/petsc.hpp"
#include "io/narrowing.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::io {
namespace {

const Format* format_for(const std::filesystem::path& file, const ReadOptions& options)
{
    return options.format.empty() ? find_format(file) : &format_named(options.format);
}

template <class V>
class LinesPart final : public FilePart<V> {
public:
    LinesPart(const CpuQueue& q, Source source, const ReadOptions& options, int part, int parts)
        : name_(source.name()),
          options_(options),
          lines_(q, std::move(source), options, part, parts)
    {
        this->rows = lines_.header().rows;
        this->cols = lines_.header().cols;
        this->entries = lines_.entries();
        this->mirror = lines_.header().mirror();
        this->has_values = lines_.header().field != Field::pattern;
        this->can_be_read = lines_.header().layout == MarketLayout::coordinate;
    }
    Coo<V> read(offset_t before, offset_t all) override
    {
        FileInfo info;
        Coo<V> read = lines_.template read<V>(before, all, info);
        refuse_losses(name_, options_, info);
        return read;
    }

private:
    std::string name_;
    ReadOptions options_;
    MarketPart lines_;
};

template <class V>
class RowsPart final : public FilePart<V> {
public:
    RowsPart(const CpuQueue& q, Source source, bool is_petsc, int part, int parts)
        : q_(q),
          source_(std::move(source)),
          is_petsc_(is_petsc),
          is_last_(part + 1 == parts),
          file_(is_petsc ? petsc_rows(q, source_, part, parts) : binary_rows(q, source_, part, parts))
    {
        this->rows = file_.rows;
        this->cols = file_.cols;
        this->entries = std::accumulate(file_.length.data(), file_.length.data() + file_.length.size(), offset_t{0});
    }
    Coo<V> read(offset_t before, offset_t all) override
    {
        if (all != file_.nonzeros && is_last_)
            source_.fail(source_.bytes().data(),
                         concat("the rows have ", all, " entries, the header says ", file_.nonzeros));
        const offset_t count = all == file_.nonzeros ? this->entries : 0;  // another part tells what is wrong
        Coo<V> to{.rows = file_.rows, .cols = file_.cols, .row = Buffer<index_t>(q_, count), .col = {}, .value = {}};
        if (is_petsc_) petsc_entries(q_, source_, before, count, to);
        else binary_entries(q_, source_, before, count, to);
        offset_t next = 0;
        for (offset_t i = 0; count > 0 && i < file_.length.size(); next += file_.length.data()[i++])
            std::fill_n(to.row.data() + next, file_.length.data()[i], static_cast<index_t>(file_.first + i));
        return to;
    }

private:
    CpuQueue q_;
    Source source_;
    bool is_petsc_, is_last_;
    FileRows file_;
};

}  // namespace

bool has_parts(const std::filesystem::path& file, const ReadOptions& options)
{
    const Format* const format = format_for(file, options);
    if (!format || format->packing != Packing::none || options.narrow != Narrow::no) return false;
    if (format->contents == Contents::matrix_market) return true;
    return (format->contents == Contents::binary || format->contents == Contents::petsc) && !options.strict;
}

template <class V>
std::unique_ptr<FilePart<V>> open_part(const CpuQueue& q, const std::filesystem::path& file, const ReadOptions& options,
                                       int part, int parts)
{
    const Contents contents = format_for(file, options)->contents;
    Source source = Source::open(q, file);
    if (contents == Contents::matrix_market)
        return std::make_unique<LinesPart<V>>(q, std::move(source), options, part, parts);
    return std::make_unique<RowsPart<V>>(q, std::move(source), contents == Contents::petsc, part, parts);
}

template std::unique_ptr<FilePart<float>> open_part(const CpuQueue&, const std::filesystem::path&, const ReadOptions&,
                                                    int, int);
template std::unique_ptr<FilePart<double>> open_part(const CpuQueue&, const std::filesystem::path&, const ReadOptions&,
                                                     int, int);

}  // namespace tulle::inline TULLE_ABI::io

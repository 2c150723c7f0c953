// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What a search found, remembered in a folder: a small file for each pattern, device and type. Files appear whole or
// not at all, so any number of processes may share a folder. A file that cannot be understood is never trusted, one
// that is not ours never replaced; nothing here throws because of files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sptrsv/analysis/triangle.hpp"
#include "tulle/sptrsv.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {

// The same for the same pattern in the order it is solved, whatever the number of threads.
std::uint64_t fingerprint(const CpuQueue& host, const Triangle& t);

struct CacheKey {
    std::uint64_t pattern = 0;
    std::string device, type;  // "NVIDIA H200", "f64"
};

struct Remembered {
    std::optional<Policy> scheme = {};
    double seconds = 0;     // of a solve, as measured then
    std::string note = {};  // why a file was ignored
};
Remembered recall(const std::string& folder, const CacheKey& key, const Limits& limits);

// Returns why nothing could be written, or an empty text.
std::string remember(const std::string& folder, const CacheKey& key, const Policy& scheme, double seconds);

// Where the file of a key is.
std::string cache_file(const std::string& folder, const CacheKey& key);

}  // namespace tulle::inline TULLE_ABI::sptrsv

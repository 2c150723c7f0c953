// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Where a matrix comes from: a file, or a sentence for a generator ("stencil7:100"). Every verb that takes a matrix
// takes both.
#pragma once

#include <cstdint>
#include <string>

#include "apps/cli/support/session.hpp"
#include "tulle/csr.hpp"
#include "tulle/io.hpp"

namespace tulle::cli {

struct Source {
    std::string text;                    // as the user wrote it
    bool real_part = false;              // of complex files, instead of refusing them
    std::string values = {};             // of files without: empty or ones, or random:SEED
    std::string format = {};             // empty: by the name, else by the contents
    bool strict = false;                 // values that do not fit their type are refused
    io::Narrow narrow = io::Narrow::no;  // values will be converted to 16 bits
    bool trust_header = false;           // sizes in a header are believed, however small the file
    // Another one, read with the same options; a format is that of stdin.
    Source with_text(const std::string& other) const;
    bool is_sentence() const;
    bool is_stdin() const { return text == "-"; }
    std::string name() const;  // short, for titles: "cant", "stencil7:100"
};

template <class V>
struct Loaded {
    Csr<V> matrix;
    io::FileInfo file;  // format is empty for a generated matrix
    double seconds = 0;
};

// Reads or generates it in the memory of the context, with a progress line; says on stderr how long that took.
// Losses are said on stderr and end up in the JSON result (session.warnings).
template <class V>
Loaded<V> load(const Session& session, const Context& ctx, const Source& source);

// Throws what load() would throw where there is no such file: asked before something else is read for long.
void check_exists(const Source& source);

// Standard input can be read once: UsageError the second time. `what` reads it.
void claim_stdin(const std::string& what);

}  // namespace tulle::cli

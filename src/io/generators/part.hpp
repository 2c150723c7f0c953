// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Some rows of a generated matrix, for several processes that make it together: those of generate(), with the same
// bits.
#pragma once

#include <string_view>

#include "tulle/context.hpp"
#include "tulle/csr.hpp"

namespace tulle::inline TULLE_ABI::io {

template <class V>
struct RowsOfPart {
    Csr<V> rows;
    index_t all_rows = 0;  // of the whole matrix
};

// Whether rows of this matrix can be made apart; ValueError if the text is wrong.
bool generates_parts(std::string_view sentence);

// Rows share_of(all_rows, part, parts) and following, up to those of the next part. Errors as generate(); memory is
// asked for these rows alone.
template <class V>
RowsOfPart<V> generate_part(const CpuQueue& q, std::string_view sentence, int part, int parts);

}  // namespace tulle::inline TULLE_ABI::io

// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What update_values of every plan checks: a plan keeps what it knows of a pattern, so the new matrix must have the
// same format, shape and number of nonzeros.
#pragma once

#include <cstddef>
#include <string_view>

#include "tulle/error.hpp"
#include "tulle/text.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::matrix {

struct MatrixSize {
    index_t rows, cols;
    offset_t nonzeros;
    bool operator==(const MatrixSize&) const = default;
};

template <class View>
MatrixSize size_of(const View& m)
{
    return {m.rows, m.cols, m.nonzeros};
}

// PlanMismatch with both sizes; `name` is the operand's.
inline void require_same_size(const MatrixSize& was, const MatrixSize& is, std::string_view name = "a matrix")
{
    require<PlanMismatch>(was == is, [&] {
        return concat("the plan is for ", name, " of ", was.rows, " x ", was.cols, " with ", was.nonzeros,
                      " nonzeros, the new one is ", is.rows, " x ", is.cols, " with ", is.nonzeros);
    });
}

// Formats as the index of a view among those that a plan takes.
inline void require_same_format(std::size_t was, std::size_t is)
{
    require<PlanMismatch>(was == is, "the plan is for another format than the new matrix has");
}

}  // namespace tulle::inline TULLE_ABI::matrix

// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A double matrix in float: values of its own, the pattern of the original.
#pragma once

#include "tulle/context.hpp"
#include "tulle/csr.hpp"
#include "vector/vector.hpp"

namespace tulle::inline TULLE_ABI::solve {

class FloatMatrix {
public:
    FloatMatrix(const Context& ctx, const CsrView<double>& a) : ctx_(ctx)
    {
        ctx.run([&](const auto& q) {
            values_ = Buffer<float>(q, a.nonzeros);
            scale_ = Buffer<double>(q, 1);
        });
    }
    // A times the scale, in float; valid while this and the arrays of A are.
    CsrView<float> convert(const CsrView<double>& a, double scale = 1)
    {
        ctx_.run([&](const auto& q) {
            upload(q, &scale, scale_.data(), 1);
            vector::convert(q, a.nonzeros, a.value, values_.data(), scale_.data());
        });
        return {a.rows, a.cols, a.nonzeros, a.row_begin, a.col, values_.data(), a.sorted, a.unique};
    }
    std::size_t bytes() const { return values_.bytes() + scale_.bytes(); }

private:
    Context ctx_;
    Buffer<float> values_;
    Buffer<double> scale_;
};

}  // namespace tulle::inline TULLE_ABI::solve

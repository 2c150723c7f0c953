// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Iterative refinement: the residual in double, scaled to length 1, is the right-hand side of a solver in float, whose
// result is scaled back and added to x. The matrix in float is A times a power of two, so that its largest value is in
// range whatever the scale of A.
#include <algorithm>
#include <cmath>

#include "amg/near_null.hpp"
#include "prim/reduce.hpp"
#include "solve/float_matrix.hpp"
#include "solve/method.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::solve {
namespace {

// The power of two that brings the largest magnitude between 1 and 2.
double power_to_one(const Context& ctx, const CsrView<double>& a)
{
    const double largest = ctx.run([&](const auto& q) {
        return std::max(prim::maximum(q, a.value, a.nonzeros, 0.0), -prim::minimum(q, a.value, a.nonzeros, 0.0));
    });
    return std::isnormal(largest) ? std::ldexp(1.0, -std::clamp(std::ilogb(largest), -1000, 1000)) : 1;
}

class Refinement final : public Iteration<double> {
public:
    Refinement(System<double>& system, const CsrView<double>& a, const Recipe& recipe)
        : system_(system),
          matrix_scale_(power_to_one(system.ctx, a)),
          matrix_(system.ctx, a),
          inner_(make_inner(a, inner_recipe(recipe),
                            amg::unit_columns<float>(system.ctx, std::as_const(system.near_null).view())))
    {
        system.ctx.run([&](const auto& q) {
            right_ = Buffer<float>(q, a.rows);
            step_ = Buffer<float>(q, a.rows);
            wide_ = Buffer<double>(q, a.rows);
            scale_ = Buffer<double>(q, 2);
            fill_zero(q, wide_.data(), a.rows);
        });
    }

    void start(double* x, int) override { x_ = x; }

    // Waits for the inner solver.
    void iterate() override
    {
        const offset_t n = system_.rows();
        system_.ctx.run([&](const auto& q) {
            Status status = read_value(q, system_.status.data());
            if (status.halt != Halt::none) return;
            const double scale[2] = {1 / status.norm, status.norm * matrix_scale_};
            upload(q, scale, scale_.data(), 2);
            vector::convert(q, n, std::as_const(system_.residual).data(), right_.data(), scale_.data());
            const Report inner = inner_.solve(right_.span(), step_.span());
            inner_iterations_ += inner.iterations + inner.inner_iterations;
            if (inner.reason == Reason::not_finite || inner.relative >= 1) return give_up(q, status);
            vector::convert(q, n, std::as_const(step_).data(), wide_.data(), scale_.data() + 1);
            vector::axpby(q, n, 1.0, std::as_const(wide_).data(), 1.0, x_);
        });
        system_.product.run(-1.0, wide_.span(), 1.0, system_.residual.span());
        system_.pass(RecordNorm<double>{system_.residual.data(), system_.status.data()});
    }

    offset_t inner_iterations() const override { return inner_iterations_; }
    void update_values(const CsrView<double>& a) override
    {
        matrix_scale_ = power_to_one(system_.ctx, a);
        inner_.update_values(matrix_.convert(a, matrix_scale_));
    }
    std::size_t bytes() const override
    {
        return matrix_.bytes() + inner_.bytes() + right_.bytes() + step_.bytes() + wide_.bytes() + scale_.bytes();
    }
    std::string describe() const override
    {
        return concat("inside, in float: ", to_text(*inner_.policy().method), ", ",
                      to_text(*inner_.policy().preconditioner));
    }

private:
    Plan<float> make_inner(const CsrView<double>& a, const Recipe& recipe, const Dense<float>& near_null)
    {
        return Plan<float>::make(system_.ctx, matrix_.convert(a, matrix_scale_), recipe, near_null.view());
    }
    static Recipe inner_recipe(const Recipe& recipe)
    {
        return {.method = recipe.inner.method,
                .preconditioner = recipe.preconditioner,
                .stop = {.relative = recipe.inner.relative, .iterations = recipe.inner.iterations},
                .restart = recipe.restart,
                .unknowns_per_node = recipe.unknowns_per_node,
                .explain = false};
    }
    // No step of the inner solver helps: the passes that follow do nothing.
    template <class Queue>
    void give_up(const Queue& q, Status status)
    {
        status.halt = Halt::breakdown;
        upload(q, &status, system_.status.data(), 1);
        fill_zero(q, wide_.data(), wide_.size());
    }

    System<double>& system_;
    double matrix_scale_;
    FloatMatrix matrix_;
    Plan<float> inner_;
    Buffer<float> right_, step_;
    Buffer<double> wide_, scale_;
    offset_t inner_iterations_ = 0;
    double* x_ = nullptr;
};

}  // namespace

std::unique_ptr<Iteration<double>> make_refinement(System<double>& system, const CsrView<double>& a,
                                                   const Recipe& recipe)
{
    return std::make_unique<Refinement>(system, a, recipe);
}

}  // namespace tulle::inline TULLE_ABI::solve

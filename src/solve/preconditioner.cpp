// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The preconditioners: none, the diagonal, diagonal blocks and a Chebyshev polynomial as passes over vectors;
// incomplete factorisations and multigrid as plans of their modules.
#include "solve/preconditioner.hpp"

#include <cmath>
#include <utility>
#include <vector>

#include "base/math.hpp"
#include "solve/chebyshev.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"
#include "vector/vector.hpp"

namespace tulle::inline TULLE_ABI::solve {
namespace {

template <class V>
class NonePlan final : public PreconditionerPlan<V> {
public:
    explicit NonePlan(const Context& ctx) : ctx_(ctx) {}
    void apply(std::span<const V> r, std::span<V> z) override
    {
        ctx_.run([&](const auto& q) { copy(q, r.data(), z.data(), std::ssize(r)); });
    }
    void update_values(const CsrView<V>&) override {}
    std::size_t bytes() const override { return 0; }
    std::string describe() const override { return "no preconditioner"; }
    bool is_identity() const override { return true; }

private:
    Context ctx_;
};

// The first of n numbers, each `stride` after the one before, that is not finite.
template <class V>
offset_t first_bad(const Context& ctx, const Buffer<V>& numbers, offset_t stride)
{
    return ctx.run([&](const auto& q) {
        std::vector<V> here(static_cast<std::size_t>(numbers.size()));
        download(q, numbers.data(), here.data(), numbers.size());
        offset_t at = 0;
        while (at < numbers.size() && std::isfinite(here[static_cast<std::size_t>(at)])) at += stride;
        return at / stride;
    });
}

// Inverts the diagonal of the matrix. ValueError with the row where it cannot.
template <class V>
void invert_diagonal(const Context& ctx, const CsrView<V>& a, Buffer<V>& inverse)
{
    const double bad = ctx.run([&](const auto& q) {
        vector::PassBuffer buffer(q, a.rows);
        Buffer<double> count(q, 1);
        run_pass(q, a.rows, InvertDiagonal<V>{a, inverse.data(), count.data()}, buffer.space());
        return read_value(q, count.data());
    });
    if (bad == 0) return;
    throw ValueError(concat("row ", first_bad(ctx, inverse, 1), " (counted from 0) has no diagonal entry, a zero or ",
                            "one too small to invert there, as have ", static_cast<offset_t>(bad), " rows in all"),
                     "use no preconditioner or blocks with these rows (BlockJacobi), or reorder the matrix");
}

template <class V>
class JacobiPlan final : public PreconditionerPlan<V> {
public:
    JacobiPlan(const Context& ctx, const CsrView<V>& a)
        : ctx_(ctx),
          inverse_(ctx.run([&](const auto& q) { return Buffer<V>(q, a.rows); }))
    {
        invert_diagonal(ctx, a, inverse_);
    }
    void apply(std::span<const V> r, std::span<V> z) override
    {
        ctx_.run([&](const auto& q) {
            vector::multiply(q, inverse_.size(), std::as_const(inverse_).data(), r.data(), z.data());
        });
    }
    void update_values(const CsrView<V>& a) override { invert_diagonal(ctx_, a, inverse_); }
    std::size_t bytes() const override { return inverse_.bytes(); }
    std::string describe() const override { return "preconditioner: the diagonal"; }
    const V* inverse_diagonal() const override { return inverse_.data(); }

private:
    Context ctx_;
    Buffer<V> inverse_;
};

template <class V>
class BlockJacobiPlan final : public PreconditionerPlan<V> {
public:
    BlockJacobiPlan(const Context& ctx, const CsrView<V>& a, int rows)
        : ctx_(ctx),
          rows_(rows),
          n_(a.rows),
          inverse_(ctx.run([&](const auto& q) { return Buffer<V>(q, blocks() * rows * rows); }))
    {
        update_values(a);
    }
    void apply(std::span<const V> r, std::span<V> z) override
    {
        ctx_.run([&](const auto& q) {
            run_pass(q, n_, MultiplyBlocks<V>{inverse_.data(), rows_, n_, r.data(), z.data()}, {});
        });
    }
    void update_values(const CsrView<V>& a) override
    {
        const double bad = ctx_.run([&](const auto& q) {
            vector::PassBuffer buffer(q, blocks());
            Buffer<double> count(q, 1);
            run_pass(q, blocks(), InvertBlock<V>{a, rows_, inverse_.data(), count.data()}, buffer.space());
            return read_value(q, count.data());
        });
        if (bad == 0) return;
        const offset_t block = first_bad(ctx_, inverse_, offset_t{rows_} * rows_);
        throw ValueError(concat("the diagonal block of ", rows_, " rows from row ", block * rows_,
                                " (counted from 0) is singular, as are ", static_cast<offset_t>(bad), " blocks in all"),
                         "use blocks of another size or no preconditioner");
    }
    std::size_t bytes() const override { return inverse_.bytes(); }
    std::string describe() const override
    {
        return concat("preconditioner: ", blocks(), " diagonal blocks of ", rows_, " rows");
    }

private:
    offset_t blocks() const { return ceil_div(n_, offset_t{rows_}); }

    Context ctx_;
    int rows_;
    offset_t n_;
    Buffer<V> inverse_;
};

constexpr int power_steps = 20;
constexpr double above = 1.1;  // estimates lie inside the spectrum

template <class V>
class ChebyshevPlan final : public PreconditionerPlan<V> {
public:
    ChebyshevPlan(const Context& ctx, const CsrView<V>& a, const spmv::Plan<V>& product, const Chebyshev& options)
        : ctx_(ctx),
          product_(product),
          options_(options)
    {
        ctx.run([&](const auto& q) {
            for (Buffer<V>* v : {&inverse_, &d_, &residual_}) *v = Buffer<V>(q, a.rows);
        });
        update_values(a);
    }

    // z = p(D A) D r by steps of Chebyshev iteration from zero.
    void apply(std::span<const V> r, std::span<V> z) override
    {
        ChebyshevRecurrence recurrence(highest_ / options_.ratio, highest_);
        const auto step = [&](const V* residual, bool first) {
            const ChebyshevRecurrence::Step s = recurrence.next();
            ctx_.run([&](const auto& q) {
                run_pass(q, d_.size(),
                         ChebyshevStep<V>{d_.data(), residual, inverse_.data(), s.keep, s.take, z.data(), first,
                                          nullptr},
                         {});
            });
        };
        step(r.data(), true);
        if (options_.degree == 1) return;
        ctx_.run([&](const auto& q) { copy(q, r.data(), residual_.data(), residual_.size()); });
        for (int k = 1; k < options_.degree; ++k) {
            product_.run(V(-1), d_.span(), V(1), residual_.span());
            step(residual_.data(), false);
        }
    }

    void update_values(const CsrView<V>& a) override
    {
        invert_diagonal(ctx_, a, inverse_);
        highest_ = options_.highest > 0 ? options_.highest : above * estimate();
    }
    std::size_t bytes() const override { return inverse_.bytes() + d_.bytes() + residual_.bytes(); }
    std::string describe() const override
    {
        return concat("preconditioner: Chebyshev polynomial of degree ", options_.degree - 1, " for eigenvalues from ",
                      highest_ / options_.ratio, " to ", highest_, " of the matrix scaled by its diagonal");
    }
    double products() const override { return options_.degree - 1; }

private:
    // The largest eigenvalue of D A by the power method.
    double estimate()
    {
        return ctx_.run([&](const auto& q) {
            vector::PassBuffer buffer(q, d_.size());
            Buffer<double> square(q, 2);
            run_pass(q, d_.size(), FillScattered<V>{d_.data()}, {});
            double before = 0, after = 0;
            for (int k = 0; k <= power_steps; ++k) {
                const V* d = d_.data();
                vector::dot(q, d_.size(), d, d, square.data(), buffer.space());
                before = std::sqrt(read_value(q, square.data()));
                if (!(before > 0)) return 1.0;
                product_.run(static_cast<V>(1 / before), d_.span(), V(0), residual_.span());
                vector::multiply(q, d_.size(), std::as_const(inverse_).data(), std::as_const(residual_).data(),
                                 d_.data());
                after = before;
            }
            return after;
        });
    }

    Context ctx_;
    const spmv::Plan<V>& product_;
    Chebyshev options_;
    Buffer<V> inverse_, d_, residual_;
    double highest_ = 1;
};

// A plan of another module: factor::Plan, amg::Plan.
template <class V, class Other>
class OtherPlan final : public PreconditionerPlan<V> {
public:
    explicit OtherPlan(Other plan) : plan_(std::move(plan)) {}
    void apply(std::span<const V> r, std::span<V> z) override { plan_.apply(r, z); }
    void update_values(const CsrView<V>& a) override { plan_.update_values(a); }
    std::size_t bytes() const override { return plan_.bytes(); }
    std::string describe() const override { return plan_.describe(); }

private:
    Other plan_;
};

template <class V>
std::unique_ptr<PreconditionerPlan<V>> make_incomplete(const Context& ctx, const CsrView<V>& a, const Incomplete& p)
{
    const factor::Options options{.kind = p.kind,
                                  .level = p.level,
                                  .drop = p.drop,
                                  .fill = p.fill,
                                  .order = p.order,
                                  .match = p.match,
                                  .checked = false};
    using Factor = factor::Plan<V>;
    return std::make_unique<OtherPlan<V, Factor>>(Factor::make(ctx, a, options));
}

template <class V>
std::unique_ptr<PreconditionerPlan<V>> make_amg(const Context& ctx, const CsrView<V>& a, const Amg& p)
{
    const amg::Options options{
        .strength = p.strength, .smoother = p.smoother, .degree = p.degree, .cycle = p.cycle, .checked = false};
    using Hierarchy = amg::Plan<V>;
    return std::make_unique<OtherPlan<V, Hierarchy>>(Hierarchy::make(ctx, a, options));
}

}  // namespace

template <class V>
std::unique_ptr<PreconditionerPlan<V>> make_preconditioner(const Context& ctx, const CsrView<V>& a,
                                                           const spmv::Plan<V>& product,
                                                           const Preconditioner& preconditioner)
{
    struct Maker {
        const Context& ctx;
        const CsrView<V>& a;
        const spmv::Plan<V>& product;
        using Made = std::unique_ptr<PreconditionerPlan<V>>;

        Made operator()(const None&) const { return std::make_unique<NonePlan<V>>(ctx); }
        Made operator()(const Jacobi&) const { return std::make_unique<JacobiPlan<V>>(ctx, a); }
        Made operator()(const BlockJacobi& p) const { return std::make_unique<BlockJacobiPlan<V>>(ctx, a, p.rows); }
        Made operator()(const Chebyshev& p) const { return std::make_unique<ChebyshevPlan<V>>(ctx, a, product, p); }
        Made operator()(const Incomplete& p) const { return make_incomplete(ctx, a, p); }
        Made operator()(const Amg& p) const { return make_amg(ctx, a, p); }
    };
    return std::visit(Maker{ctx, a, product}, preconditioner);
}

template std::unique_ptr<PreconditionerPlan<float>> make_preconditioner(const Context&, const CsrView<float>&,
                                                                        const spmv::Plan<float>&,
                                                                        const Preconditioner&);
template std::unique_ptr<PreconditionerPlan<double>> make_preconditioner(const Context&, const CsrView<double>&,
                                                                         const spmv::Plan<double>&,
                                                                         const Preconditioner&);

}  // namespace tulle::inline TULLE_ABI::solve

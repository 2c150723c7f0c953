// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The preconditioners: none, the diagonal, diagonal blocks and a Chebyshev polynomial as passes over vectors;
// incomplete factorisations, approximate inverses and multigrid as plans of their modules.
#include "solve/preconditioner.hpp"

#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "amg/near_null.hpp"
#include "base/math.hpp"
#include "factor/fsai.hpp"
#include "prim/reduce.hpp"
#include "solve/chebyshev.hpp"
#include "solve/float_matrix.hpp"
#include "solve/policy.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"
#include "vector/power.hpp"
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
                            "one too small to invert there",
                            bad == 1 ? "" : concat(", as have ", static_cast<offset_t>(bad), " rows in all")),
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
    bool keeps_product() const override { return true; }

private:
    // The largest eigenvalue of D A.
    double estimate()
    {
        return ctx_.run([&](const auto& q) {
            return vector::largest_by_power(q, d_, power_steps, [&](double factor) {
                product_.run(static_cast<V>(factor), d_.span(), V(0), residual_.span());
                vector::multiply(q, d_.size(), std::as_const(inverse_).data(), std::as_const(residual_).data(),
                                 d_.data());
            });
        });
    }

    Context ctx_;
    const spmv::Plan<V>& product_;
    Chebyshev options_;
    Buffer<V> inverse_, d_, residual_;
    double highest_ = 1;
};

// A plan of another module: factor::Plan, factor::Fsai, factor::Ssor, amg::Plan.
template <class V, class Other>
class OtherPlan final : public PreconditionerPlan<V> {
public:
    explicit OtherPlan(Other plan, bool waits = false) : plan_(std::move(plan)), waits_(waits) {}
    void apply(std::span<const V> r, std::span<V> z) override { plan_.apply(r, z); }
    void update_values(const CsrView<V>& a) override { plan_.update_values(a); }
    std::size_t bytes() const override { return plan_.bytes(); }
    std::string describe() const override { return plan_.describe(); }
    bool waits() const override { return waits_; }
    const factor::Ssor<V>* split() const override
    {
        if constexpr (std::is_same_v<Other, factor::Ssor<V>>) return &plan_;
        else return nullptr;
    }

private:
    Other plan_;
    bool waits_;
};

template <class V>
std::unique_ptr<PreconditionerPlan<V>> make_incomplete(const Context& ctx, const CsrView<V>& a, const Incomplete& p)
{
    const factor::Options options{.kind = p.kind,
                                  .level = p.level,
                                  .most_fill = p.most_fill,
                                  .drop = p.drop,
                                  .fill = p.fill,
                                  .order = p.order,
                                  .match = p.match,
                                  .relax = p.relax,
                                  .checked = false};
    using Factor = factor::Plan<V>;
    return std::make_unique<OtherPlan<V, Factor>>(Factor::make(ctx, a, options));
}

// What smooths the levels, where the recipe nests a preconditioner there.
template <class V>
amg::MakeSmoother<V> nested_smoother(const Amg& p)
{
    if (p.smooth_by.empty()) return {};
    Preconditioner smoother = *p.smooth_by.recipe().preconditioner;
    // In float a double hierarchy scales residuals by a norm that a smoother is not told.
    if (auto* inner = std::get_if<Amg>(&smoother); inner && std::is_same_v<V, double>) {
        require<ValueError>(
            inner->precision == Precision::automatic || inner->precision == Precision::as_matrix,
            [&] { return concat(to_text(smoother), " cannot smooth inside a hierarchy in double"); },
            "use amg:float, amg:f16 or amg:bf16 around it, or leave its precision at automatic");
        inner->precision = Precision::as_matrix;
    }
    return [wanted = std::move(smoother)](const Context& ctx, const CsrView<V>& a,
                                          const spmv::Plan<V>& product) -> std::unique_ptr<amg::LevelSmoother<V>> {
        return make_preconditioner<V>(ctx, a, product, wanted);
    };
}

template <class V>
amg::Plan<V> make_hierarchy(const Context& ctx, const CsrView<V>& a, const Amg& p, index_t unknowns_per_node,
                            const DenseView<const V>& near_null)
{
    amg::Options options = amg_options(p, unknowns_per_node);
    if (std::is_same_v<V, float>) options.storage = storage_of(p.precision);
    return amg::PlanAccess::make<V>(ctx, a, options, near_null, nested_smoother<V>(p));
}

struct Range {
    double least, most;
};

// Of a diagonal that can be inverted.
template <class V>
Range diagonal_range(const Context& ctx, const CsrView<V>& a)
{
    Buffer<V> inverse = ctx.run([&](const auto& q) { return Buffer<V>(q, a.rows); });
    invert_diagonal(ctx, a, inverse);
    return ctx.run([&](const auto& q) {
        constexpr V none = std::numeric_limits<V>::max();
        return Range{1.0 / prim::maximum(q, std::as_const(inverse).data(), a.rows, -none),
                     1.0 / prim::minimum(q, std::as_const(inverse).data(), a.rows, none)};
    });
}

// Multigrid in float for a double system: half the memory traffic. Matrix and residuals are scaled into the range of
// float.
class SinglePrecisionAmg final : public PreconditionerPlan<double> {
public:
    SinglePrecisionAmg(const Context& ctx, const CsrView<double>& a, double largest, const Amg& p,
                       const Unknowns<double>& unknowns)
        : ctx_(ctx),
          waits_(has_inner_solver(p)),
          matrix_scale_(power_to_one(largest)),
          matrix_(ctx, a),
          plan_(make(a, p, unknowns.per_node, amg::unit_columns<float>(ctx, unknowns.near_null)))
    {
        ctx.run([&](const auto& q) {
            r_ = Buffer<float>(q, a.rows);
            z_ = Buffer<float>(q, a.rows);
            scale_ = Buffer<double>(q, 2);
        });
        begin(1);
    }
    void begin(double norm) override
    {
        const double to_one = power_to_one(norm), scale[2] = {to_one, matrix_scale_ / to_one};
        ctx_.run([&](const auto& q) { upload(q, scale, scale_.data(), 2); });
    }
    void apply(std::span<const double> r, std::span<double> z) override
    {
        ctx_.run([&](const auto& q) { vector::convert(q, r_.size(), r.data(), r_.data(), scale_.data()); });
        plan_.apply(r_.span(), z_.span());
        ctx_.run([&](const auto& q) {
            vector::convert(q, z_.size(), std::as_const(z_).data(), z.data(), scale_.data() + 1);
        });
    }
    void update_values(const CsrView<double>& a) override
    {
        matrix_scale_ = power_to_one(diagonal_range(ctx_, a).most);
        plan_.update_values(matrix_.convert(a, matrix_scale_));
        begin(1);
    }
    std::size_t bytes() const override
    {
        return matrix_.bytes() + r_.bytes() + z_.bytes() + scale_.bytes() + plan_.bytes();
    }
    std::string describe() const override { return plan_.describe(); }
    bool waits() const override { return waits_; }

private:
    amg::Plan<float> make(const CsrView<double>& a, const Amg& p, index_t unknowns_per_node,
                          const Dense<float>& near_null)
    {
        return make_hierarchy<float>(ctx_, matrix_.convert(a, matrix_scale_), p, unknowns_per_node, near_null.view());
    }
    // The power of two that brings a number between 1 and 2.
    static double power_to_one(double x) { return std::isnormal(x) ? std::ldexp(1.0, -std::ilogb(x)) : 1; }

    Context ctx_;
    bool waits_;
    double matrix_scale_;  // the largest diagonal entry, scaled, is between 1 and 2
    FloatMatrix matrix_;
    Buffer<float> r_, z_;
    Buffer<double> scale_;  // of residuals, and of what comes back
    amg::Plan<float> plan_;
};

// Squares of what float must hold beside each other: products of diagonal entries.
constexpr double widest_for_float = 1e12;

template <class V>
std::unique_ptr<PreconditionerPlan<V>> make_amg(const Context& ctx, const CsrView<V>& a, const Amg& p,
                                                const Unknowns<V>& unknowns)
{
    if constexpr (std::is_same_v<V, double>)
        if (p.precision != Precision::as_matrix && a.rows > 0) {
            const Range diagonal = diagonal_range(ctx, a);
            const bool fits = diagonal.least > 0 && diagonal.most <= widest_for_float * diagonal.least;
            if (p.precision != Precision::automatic || fits)
                return std::make_unique<SinglePrecisionAmg>(ctx, a, diagonal.most, p, unknowns);
        }
    return std::make_unique<OtherPlan<V, amg::Plan<V>>>(make_hierarchy(ctx, a, p, unknowns.per_node,
                                                                       unknowns.near_null),
                                                        has_inner_solver(p));
}

}  // namespace

amg::Options amg_options(const Amg& p, index_t unknowns_per_node)
{
    return {.coarsening = p.coarsening,
            .strength = p.strength,
            .smoother = p.smooth_by.empty() ? p.smoother : amg::Smoother::jacobi,
            .degree = p.degree,
            .cycle = p.cycle,
            .unknowns_per_node = unknowns_per_node,
            .checked = false};
}

template <class V>
std::unique_ptr<PreconditionerPlan<V>> make_preconditioner(const Context& ctx, const CsrView<V>& a,
                                                           const spmv::Plan<V>& product,
                                                           const Preconditioner& preconditioner,
                                                           const Unknowns<V>& unknowns)
{
    struct Maker {
        const Context& ctx;
        const CsrView<V>& a;
        const spmv::Plan<V>& product;
        const Unknowns<V>& unknowns;
        using Made = std::unique_ptr<PreconditionerPlan<V>>;

        Made operator()(const None&) const { return std::make_unique<NonePlan<V>>(ctx); }
        Made operator()(const Jacobi&) const { return std::make_unique<JacobiPlan<V>>(ctx, a); }
        Made operator()(const BlockJacobi& p) const { return std::make_unique<BlockJacobiPlan<V>>(ctx, a, p.rows); }
        Made operator()(const Chebyshev& p) const { return std::make_unique<ChebyshevPlan<V>>(ctx, a, product, p); }
        Made operator()(const Incomplete& p) const { return make_incomplete(ctx, a, p); }
        Made operator()(const Amg& p) const { return make_amg(ctx, a, p, unknowns); }
        Made operator()(const Nested& p) const { return make_inner(ctx, a, p, unknowns); }
        Made operator()(const Fsai&) const
        {
            return std::make_unique<OtherPlan<V, factor::Fsai<V>>>(factor::Fsai<V>(ctx, a));
        }
        Made operator()(const Ssor& p) const
        {
            return std::make_unique<OtherPlan<V, factor::Ssor<V>>>(factor::Ssor<V>(ctx, a, p.weight, p.order));
        }
    };
    return std::visit(Maker{ctx, a, product, unknowns}, preconditioner);
}

template std::unique_ptr<PreconditionerPlan<float>> make_preconditioner(const Context&, const CsrView<float>&,
                                                                        const spmv::Plan<float>&, const Preconditioner&,
                                                                        const Unknowns<float>&);
template std::unique_ptr<PreconditionerPlan<double>> make_preconditioner(const Context&, const CsrView<double>&,
                                                                         const spmv::Plan<double>&,
                                                                         const Preconditioner&,
                                                                         const Unknowns<double>&);

}  // namespace tulle::inline TULLE_ABI::solve

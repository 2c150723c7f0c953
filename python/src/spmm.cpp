// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// SpMM for Python. A matrix stored by columns is read as the transposed one by rows. Values of 32 or 64 bits for a plan
// of 16 bits are rounded here, with a power of two for each row where that is needed.
#include "tulle/spmm.hpp"

#include <nanobind/stl/string.h>

#include "arrays.hpp"
#include "tulle/narrow.hpp"

namespace tulle::python {
namespace {

template <class V>
class SpmmPlan {
public:
    SpmmPlan(Place& place, const Compressed& a, bool transpose, offset_t n, bool by_column, double calls,
             const std::string& policy, const std::string& scale)
        : a_(a),
          guard_(place),
          options_(options_of(a, transpose, n, by_column, calls)),
          scaling_(parse_scaling(scale)),
          plan_(make(policy))
    {}

    void run(const DenseInput<V>& b, const DenseOutput<V>& c, double alpha, double beta)
    {
        const DenseView<const V> from = dense_of(b);
        const DenseView<V> to = dense_of(c);
        require_apart(from, to);
        using Scalar = spmm::Sum<V>;
        guard_.run([&] { plan_.run(static_cast<Scalar>(alpha), from, static_cast<Scalar>(beta), to); });
    }

    void run_at(const DenseAt& b, const DenseAt& c, double alpha, double beta, Address stream)
    {
        const DenseView<const V> from = dense_at<const V>(b);
        const DenseView<V> to = dense_at<V>(c);
        using Scalar = spmm::Sum<V>;
        guard_.run_on(stream, [&] { plan_.run(static_cast<Scalar>(alpha), from, static_cast<Scalar>(beta), to); });
    }

    void update_values(const HostArray& value) { update(a_.with_values(any_place(value)), guard_.stream()); }
    void update_values_at(Address value, offset_t size, nb::handle owner, Address stream)
    {
        update(a_.with_values_at(value, size, owner), stream);
    }

    std::string policy() const { return spmm::to_text(plan_.policy()); }
    std::string describe() const { return plan_.describe(); }
    std::size_t bytes() const { return plan_.bytes() + narrowed_.bytes(); }

private:
    using Plan = spmm::Plan<V>;

    void update(Compressed next, Address stream)
    {
        guard_.run_on(stream, [&] {
            Narrowed<V> fresh;
            const AnyCsr<V> view = values_of(next, fresh);
            if (fresh.row_scale.empty() != narrowed_.row_scale.empty()) {  // kernels with factors are others
                options_.row_scale = std::as_const(fresh.row_scale).span();
                options_.force = plan_.policy();
                plan_ = Plan::make(guard_.context(), view, options_);
                narrowed_ = std::move(fresh);
            } else {
                guard_.context().run([&](const auto& q) {
                    copy(q, std::as_const(fresh.row_scale).data(), narrowed_.row_scale.data(), fresh.row_scale.size());
                });
                plan_.update_values(view);
                narrowed_.value = std::move(fresh.value);
            }
            std::swap(a_, next);  // what was kept until now goes when Python's lock is held again
        });
    }

    static spmm::Options options_of(const Compressed& a, bool transpose, offset_t n, bool by_column, double calls)
    {
        return {.op = transpose != a.by_column ? Op::transpose : Op::none,
                .n = to_count(n, "n"),
                .b_layout = by_column ? Layout::col_major : Layout::row_major,
                .expected_calls = calls,
                .checked = false};
    }

    // The matrix with values of the plan's type: the caller's, or rounded ones, which are kept in `to`.
    AnyCsr<V> values_of(const Compressed& a, Narrowed<V>& to) const
    {
        if constexpr (sizeof(V) == 2) {
            if (a.value.dtype() == nb::dtype<float>()) return narrowed_values(a.as_rows<float>(), to);
            if (a.value.dtype() == nb::dtype<double>()) return narrowed_values(a.as_rows<double>(), to);
        }
        return a.as_rows<V>();
    }
    template <class From>
    AnyCsr<V> narrowed_values(const AnyCsr<From>& a, Narrowed<V>& to) const
    {
        return std::visit(
            [&](const auto& view) -> AnyCsr<V> {
                to = tulle::narrow<V>(guard_.context(), view,
                                      {.scaling = scaling_, .op = options_.op, .checked = false});
                return to.view(view);
            },
            a);
    }

    Plan make(const std::string& policy)
    {
        const nb::gil_scoped_release free;
        const AnyCsr<V> view = values_of(a_, narrowed_);
        const Context& ctx = guard_.context();
        options_.row_scale = std::as_const(narrowed_.row_scale).span();
        Plan plan = Plan::make(ctx, view, options_);
        if (policy.empty()) return plan;
        options_.force = find_policy(spmm::candidates(plan.features(), {.backend = ctx.backend()}), policy,
                                     [](const spmm::Policy& p) { return spmm::to_text(p.kernel); });
        return Plan::make(ctx, view, options_);
    }

    Compressed a_;
    PlanGuard guard_;
    spmm::Options options_;
    Scaling scaling_;
    Narrowed<V> narrowed_;  // rounded values and factors, where the caller's are wider
    Plan plan_;
};

template <class V>
void bind(nb::module_& m, const char* name)
{
    using P = SpmmPlan<V>;
    bind_common(nb::class_<P>(m, name)
                    .def(nb::init<Place&, const Compressed&, bool, offset_t, bool, double, const std::string&,
                                  const std::string&>(),
                         "context"_a, "a"_a, "transpose"_a, "n"_a, "by_column"_a, "expected_calls"_a, "policy"_a,
                         "scale"_a)
                    .def("run", &P::run, "b"_a.noconvert(), "c"_a.noconvert(), "alpha"_a, "beta"_a)
                    .def("run_at", &P::run_at, "b"_a, "c"_a, "alpha"_a, "beta"_a, "stream"_a));
}

}  // namespace

void bind_spmm(nb::module_& m)
{
    bind<double>(m, "SpmmPlan_f64");
    bind<float>(m, "SpmmPlan_f32");
    bind<Float16>(m, "SpmmPlan_f16");
    bind<Bfloat16>(m, "SpmmPlan_bf16");
}

}  // namespace tulle::python

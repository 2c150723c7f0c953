// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// SDDMM and sparse attention for Python. The arrays of a matrix stored by columns are those of its transpose by rows,
// and (X Y')' = Y X': X and Y change places, and the results are in the order of the arrays.
#include "tulle/sddmm.hpp"

#include <nanobind/stl/string.h>

#include "arrays.hpp"

namespace tulle::python {
namespace {

template <class V>
class SddmmPlan {
public:
    SddmmPlan(Place& place, const Compressed& a, offset_t k, offset_t attended, bool scaled, const std::string& policy)
        : a_(a),
          guard_(place),
          plan_(make(
              place.get(), a,
              {.k = to_count(k, "k"), .attended = to_count(attended, "attended"), .scaled = scaled, .checked = false},
              policy))
    {}

    void run(const DenseInput<V>& x, const DenseInput<V>& y, const Output<V>& c, double alpha, double beta)
    {
        const DenseView<const V> first = dense_of(x), second = dense_of(y);
        const auto to = span_of(c);
        require_apart(first, as_column(to));
        require_apart(second, as_column(to));
        guard_.run([&] { multiply(first, second, to, alpha, beta); });
    }

    void run_at(const DenseAt& x, const DenseAt& y, Address c, offset_t size, double alpha, double beta, Address stream)
    {
        const DenseView<const V> first = dense_at<const V>(x), second = dense_at<const V>(y);
        guard_.run_on(stream, [&] { multiply(first, second, span_at<V>(c, size), alpha, beta); });
    }

    void attend(const DenseInput<V>& q, const DenseInput<V>& k, const DenseInput<V>& v, const DenseOutput<V>& h,
                double alpha)
    {
        const DenseView<const V> from_q = dense_of(q), from_k = dense_of(k), from_v = dense_of(v);
        const DenseView<V> to = dense_of(h);
        for (const auto& from : {from_q, from_k, from_v}) require_apart(from, to);
        guard_.run([&] { plan_.attend(static_cast<Scalar>(alpha), from_q, from_k, from_v, to); });
    }

    void attend_at(const DenseAt& q, const DenseAt& k, const DenseAt& v, const DenseAt& h, double alpha, Address stream)
    {
        const DenseView<const V> from_q = dense_at<const V>(q), from_k = dense_at<const V>(k),
                                 from_v = dense_at<const V>(v);
        const DenseView<V> to = dense_at<V>(h);
        guard_.run_on(stream, [&] { plan_.attend(static_cast<Scalar>(alpha), from_q, from_k, from_v, to); });
    }

    void update_values(const HostArray& value) { update(a_.with_values(any_place(value)), guard_.stream()); }
    void update_values_at(Address value, offset_t size, nb::handle owner, Address stream)
    {
        update(a_.with_values_at(value, size, owner), stream);
    }

    std::string policy() const { return sddmm::to_text(plan_.policy()); }
    std::string describe() const { return plan_.describe(); }
    std::size_t bytes() const { return plan_.bytes(); }

private:
    using Plan = sddmm::Plan<V>;
    using Scalar = typename Plan::Scalar;

    static DenseView<V> as_column(std::span<V> c)
    {
        return {1, static_cast<index_t>(c.size()), static_cast<offset_t>(c.size()), Layout::row_major, c.data()};
    }

    void multiply(const DenseView<const V>& x, const DenseView<const V>& y, std::span<V> c, double alpha, double beta)
    {
        plan_.run(static_cast<Scalar>(alpha), a_.by_column ? y : x, a_.by_column ? x : y, static_cast<Scalar>(beta), c);
    }

    void update(Compressed next, Address stream)
    {
        guard_.run_on(stream, [&] {
            plan_.update_values(next.as_rows<V>());
            std::swap(a_, next);  // what was kept until now goes when Python's lock is held again
        });
    }

    static Plan make(const Context& ctx, const Compressed& a, sddmm::Options options, const std::string& policy)
    {
        const auto view = a.as_rows<V>();
        const nb::gil_scoped_release free;
        if (!policy.empty())
            options.force = find_policy(sddmm::candidates(ctx.backend()), policy,
                                        [](const sddmm::Policy& p) { return sddmm::to_text(p); });
        return Plan::make(ctx, view, options);
    }

    Compressed a_;
    PlanGuard guard_;
    Plan plan_;
};

template <class V>
void bind(nb::module_& m, const char* name)
{
    using P = SddmmPlan<V>;
    bind_common(nb::class_<P>(m, name)
                    .def(nb::init<Place&, const Compressed&, offset_t, offset_t, bool, const std::string&>(),
                         "context"_a, "a"_a, "k"_a, "attended"_a, "scaled"_a, "policy"_a)
                    .def("run", &P::run, "x"_a.noconvert(), "y"_a.noconvert(), "c"_a.noconvert(), "alpha"_a, "beta"_a)
                    .def("run_at", &P::run_at, "x"_a, "y"_a, "c"_a, "size"_a, "alpha"_a, "beta"_a, "stream"_a)
                    .def("attend", &P::attend, "q"_a.noconvert(), "k"_a.noconvert(), "v"_a.noconvert(),
                         "h"_a.noconvert(), "alpha"_a)
                    .def("attend_at", &P::attend_at, "q"_a, "k"_a, "v"_a, "h"_a, "alpha"_a, "stream"_a));
}

}  // namespace

void bind_sddmm(nb::module_& m)
{
    bind<double>(m, "SddmmPlan_f64");
    bind<float>(m, "SddmmPlan_f32");
    bind<Float16>(m, "SddmmPlan_f16");
    bind<Bfloat16>(m, "SddmmPlan_bf16");
}

}  // namespace tulle::python

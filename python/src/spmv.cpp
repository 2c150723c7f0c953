// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// SpMV for Python: plans and products done once. The matrix was looked through when its arrays came in.
#include "tulle/spmv.hpp"

#include <nanobind/stl/string.h>

#include "arrays.hpp"
#include "tulle/spmv_direct.hpp"

namespace tulle::python {
namespace {

spmv::Options options_of(bool transpose) { return {.op = transpose ? Op::transpose : Op::none, .checked = false}; }

template <class V, class M>
class SpmvPlan {
public:
    SpmvPlan(Place& place, const Compressed& a, bool transpose, const std::string& policy)
        : a_(a),
          guard_(place),
          plan_(make(place.get(), a, transpose, policy))
    {}

    void run(const Input<V>& x, const Output<V>& y, double alpha, double beta)
    {
        const auto from = span_of(x);
        const auto to = span_of(y);
        require_apart(from, to);
        guard_.run([&] { plan_.run(static_cast<V>(alpha), from, static_cast<V>(beta), to); });
    }

    void run_at(Address x, offset_t x_size, Address y, offset_t y_size, double alpha, double beta, Address stream)
    {
        guard_.run_on(stream, [&] {
            plan_.run(static_cast<V>(alpha), span_at<const V>(x, x_size), static_cast<V>(beta), span_at<V>(y, y_size));
        });
    }

    void update_values(const HostArray& value) { update(a_.with_values(any_place(value)), guard_.stream()); }
    void update_values_at(Address value, offset_t size, nb::handle owner, Address stream)
    {
        update(a_.with_values_at(value, size, owner), stream);
    }

    std::string policy() const { return spmv::to_text(plan_.policy()); }
    std::string describe() const { return plan_.describe(); }
    std::size_t bytes() const { return plan_.bytes(); }

private:
    using Plan = spmv::Plan<V, M>;

    void update(Compressed next, Address stream)
    {
        guard_.run_on(stream, [&] {
            plan_.update_values(next.template stored<spmv::AnyView<M>, M>());
            std::swap(a_, next);  // what was kept until now goes when Python's lock is held again
        });
    }

    static Plan make(const Context& ctx, const Compressed& a, bool transpose, const std::string& policy)
    {
        const auto view = a.template stored<spmv::AnyView<M>, M>();
        spmv::Options options = options_of(transpose);
        const nb::gil_scoped_release free;
        Plan plan = Plan::make(ctx, view, options);
        if (policy.empty()) return plan;
        const auto all = spmv::candidates(plan.features(), {.backend = ctx.backend(), .threads = ctx.host().threads});
        options.force = find_policy(all, policy, [](const spmv::Policy& p) { return spmv::to_text(p.kernel); });
        return Plan::make(ctx, view, options);
    }

    Compressed a_;
    PlanGuard guard_;
    Plan plan_;
};

template <class V, class M>
void multiply_once(Place& place, const Compressed& a, bool transpose, const Input<V>& x, const Output<V>& y,
                   double alpha, double beta)
{
    const Context& ctx = place.get();
    const auto view = a.stored<spmv::AnyView<M>, M>();
    const auto from = span_of(x);
    const auto to = span_of(y);
    const nb::gil_scoped_release free;
    spmv::Plan<V, M>::once(ctx, view, static_cast<V>(alpha), from, static_cast<V>(beta), to, options_of(transpose));
}

template <class V, class M>
void multiply_once_at(Place& place, const Compressed& a, bool transpose, Address x, offset_t x_size, Address y,
                      offset_t y_size, double alpha, double beta)
{
    const Context& ctx = place.get();
    const auto view = a.stored<spmv::AnyView<M>, M>();
    const nb::gil_scoped_release free;
    spmv::Plan<V, M>::once(ctx, view, static_cast<V>(alpha), span_at<const V>(x, x_size), static_cast<V>(beta),
                           span_at<V>(y, y_size), options_of(transpose));
}

// The same by rows of arrays as they are, which are looked through while they are multiplied. ValueError where they are
// malformed, or longer than the matrix.
template <class V, class M>
void multiply_rows_once(Place& place, offset_t rows, offset_t cols, const HostArray& indptr, const HostArray& indices,
                        const HostArray& data, const Input<V>& x, const Output<V>& y, double alpha)
{
    const Context& ctx = place.get();
    const Compressed a(place, false, rows, cols, any_place(indptr), any_place(indices), any_place(data), false);
    const auto view = a.stored<spmv::AnyView<M>, M>();
    const auto from = span_of(x);
    const auto to = span_of(y);
    const nb::gil_scoped_release free;
    spmv::Plan<V, M>::once(ctx, view, static_cast<V>(alpha), from, V(0), to);
}

// A matrix by rows, by addresses.
template <class M>
AnyCsr<M> rows_at(offset_t rows, offset_t cols, offset_t nonzeros, Address indptr, bool narrow, Address indices,
                  Address data)
{
    const index_t r = to_index(rows, "rows"), c = to_index(cols, "columns");
    const auto* col = reinterpret_cast<const index_t*>(indices);
    const auto* value = reinterpret_cast<const M*>(data);
    if (narrow)
        return Csr32View<M>{r, c, nonzeros, reinterpret_cast<const std::int32_t*>(indptr), col, value, false, false};
    return CsrView<M>{r, c, nonzeros, reinterpret_cast<const offset_t*>(indptr), col, value, false, false};
}

// Lanes of the rows kernel, or 0 for the split kernel. ValueError if the matrix is malformed.
int direct_lanes(Place& place, offset_t rows, offset_t cols, offset_t nonzeros, Address indptr, bool narrow,
                 Address indices)
{
    const Context& ctx = place.get();
    const auto a = rows_at<float>(rows, cols, nonzeros, indptr, narrow, indices, indices);  // values are not read
    const nb::gil_scoped_release free;
    const spmv::Policy policy = spmv::direct_policy(ctx, a);
    return policy.kernel == spmv::Kernel::rows ? policy.lanes : 0;
}

// Products without a plan with one matrix by rows that was looked through; its arrays are kept by the Python side.
template <class V, class M>
class SpmvDirect {
public:
    SpmvDirect(offset_t rows, offset_t cols, offset_t nonzeros, Address indptr, bool narrow, Address indices,
               Address data, int lanes)
        : a_(rows_at<M>(rows, cols, nonzeros, indptr, narrow, indices, data)),
          policy_{lanes > 0 ? spmv::Kernel::rows : spmv::Kernel::split, lanes},
          rows_(rows)
    {}

    void run(Place& place, Address x, offset_t x_size, Address y, double alpha, double beta) const
    {
        const Context& ctx = place.get();
        const nb::gil_scoped_release free;
        spmv::multiply_direct(ctx, a_, policy_, static_cast<V>(alpha), span_at<const V>(x, x_size),
                              static_cast<V>(beta), span_at<V>(y, rows_));
    }

private:
    AnyCsr<M> a_;
    spmv::Policy policy_;
    offset_t rows_;
};

template <class V, class M>
void bind(nb::module_& m, const char* plan, const char* direct, const std::string& once)
{
    using P = SpmvPlan<V, M>;
    using D = SpmvDirect<V, M>;
    bind_common(nb::class_<P>(m, plan)
                    .def(nb::init<Place&, const Compressed&, bool, const std::string&>(), "context"_a, "a"_a,
                         "transpose"_a, "policy"_a)
                    .def("run", &P::run, "x"_a.noconvert(), "y"_a.noconvert(), "alpha"_a, "beta"_a)
                    .def("run_at", &P::run_at, "x"_a, "x_size"_a, "y"_a, "y_size"_a, "alpha"_a, "beta"_a, "stream"_a));
    m.def(once.c_str(), &multiply_once<V, M>, "context"_a, "a"_a, "transpose"_a, "x"_a.noconvert(), "y"_a.noconvert(),
          "alpha"_a, "beta"_a);
    m.def((once + "_rows").c_str(), &multiply_rows_once<V, M>, "context"_a, "rows"_a, "cols"_a, "indptr"_a.noconvert(),
          "indices"_a.noconvert(), "data"_a.noconvert(), "x"_a.noconvert(), "y"_a.noconvert(), "alpha"_a);
    nb::class_<D>(m, direct)
        .def(nb::init<offset_t, offset_t, offset_t, Address, bool, Address, Address, int>(), "rows"_a, "cols"_a,
             "nonzeros"_a, "indptr"_a, "narrow"_a, "indices"_a, "data"_a, "lanes"_a)
        .def("run", &D::run, "context"_a, "x"_a, "x_size"_a, "y"_a, "alpha"_a, "beta"_a);
    m.def((once + "_at").c_str(), &multiply_once_at<V, M>, "context"_a, "a"_a, "transpose"_a, "x"_a, "x_size"_a, "y"_a,
          "y_size"_a, "alpha"_a, "beta"_a);
}

}  // namespace

void bind_spmv(nb::module_& m)
{
    m.def("direct_lanes", &direct_lanes, "context"_a, "rows"_a, "cols"_a, "nonzeros"_a, "indptr"_a, "narrow"_a,
          "indices"_a);
    bind<double, double>(m, "SpmvPlan_f64", "SpmvDirect_f64", "spmv_f64");
    bind<float, float>(m, "SpmvPlan_f32", "SpmvDirect_f32", "spmv_f32");
    bind<double, float>(m, "SpmvPlan_f64_f32", "SpmvDirect_f64_f32", "spmv_f64_f32");
}

}  // namespace tulle::python

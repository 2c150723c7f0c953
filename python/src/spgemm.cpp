// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// SpGEMM for Python. The library knows CSR: the arrays of a matrix stored by columns are those of its transpose by
// rows, and a C that shall be stored by columns is computed as its transpose, op(B)' op(A)'. So no format needs a copy.
#include "tulle/spgemm.hpp"

#include <nanobind/stl/string.h>

#include "arrays.hpp"

namespace tulle::python {
namespace {

Op op_of(bool transpose) { return transpose ? Op::transpose : Op::none; }

// The factors in the order in which they are multiplied.
template <class V>
struct Factors {
    Factors(const Compressed& a, bool transpose_a, const Compressed& b, bool transpose_b, bool c_by_column)
        : first(c_by_column ? b.as_rows<V>() : a.as_rows<V>()),
          second(c_by_column ? a.as_rows<V>() : b.as_rows<V>())
    {
        const Op of_a = op_of((transpose_a != a.by_column) != c_by_column),
                 of_b = op_of((transpose_b != b.by_column) != c_by_column);
        options.op_a = c_by_column ? of_b : of_a;
        options.op_b = c_by_column ? of_a : of_b;
        options.checked = false;
    }

    AnyCsr<V> first, second;
    spgemm::Options options;
};

template <class V>
class SpgemmPlan {
public:
    SpgemmPlan(Place& place, const Compressed& a, bool transpose_a, const Compressed& b, bool transpose_b,
               bool c_by_column, const std::string& policy)
        : a_(a),
          b_(b),
          transpose_a_(transpose_a),
          transpose_b_(transpose_b),
          c_by_column_(c_by_column),
          plan_(make(place.get(), factors(a, b), policy))
    {}

    nb::tuple run()
    {
        Csr<V> c = guard_.run([&] { return plan_.run(); });
        return hand_over(std::move(c));
    }

    void update_values(const Array& a, const Array& b)
    {
        Compressed next_a = a_.with_values(a), next_b = b_.with_values(b);
        const Factors<V> f = factors(next_a, next_b);
        guard_.run([&] {
            plan_.update_values(f.first, f.second);
            std::swap(a_, next_a);  // what was kept until now goes when Python's lock is held again
            std::swap(b_, next_b);
        });
    }

    std::string policy() const { return spgemm::to_text(plan_.policy()); }
    std::string describe() const { return plan_.describe(); }
    std::size_t bytes() const { return plan_.bytes(); }
    offset_t nonzeros() const { return plan_.nonzeros(); }
    offset_t products() const { return plan_.products(); }
    nb::dict memory() const
    {
        const spgemm::MemoryNeed need = plan_.memory();
        nb::dict d;
        d["result"] = need.result, d["plan"] = need.plan, d["workspace"] = need.workspace;
        return d;
    }

private:
    using Plan = spgemm::Plan<V>;

    Factors<V> factors(const Compressed& a, const Compressed& b) const
    {
        return {a, transpose_a_, b, transpose_b_, c_by_column_};
    }

    static Plan make(const Context& ctx, Factors<V> f, const std::string& policy)
    {
        const nb::gil_scoped_release free;
        if (!policy.empty())
            f.options.force = find_policy(spgemm::candidates({.backend = ctx.backend(),
                                                              .threads = ctx.host().threads,
                                                              .deterministic = ctx.is_deterministic()}),
                                          policy, [](const spgemm::Policy& p) { return spgemm::to_text(p.method); });
        return Plan::make(ctx, f.first, f.second, f.options);
    }

    Compressed a_, b_;
    bool transpose_a_, transpose_b_, c_by_column_;
    PlanGuard guard_;
    Plan plan_;
};

template <class V>
nb::tuple multiply_once(Place& place, const Compressed& a, bool transpose_a, const Compressed& b, bool transpose_b,
                        bool c_by_column)
{
    const Context& ctx = place.get();
    const Factors<V> f(a, transpose_a, b, transpose_b, c_by_column);
    Csr<V> c = [&] {
        const nb::gil_scoped_release free;
        return spgemm::Plan<V>::once(ctx, f.first, f.second, f.options);
    }();
    return hand_over(std::move(c));
}

template <class V>
void bind(nb::module_& m, const char* plan, const char* once)
{
    using P = SpgemmPlan<V>;
    nb::class_<P>(m, plan)
        .def(nb::init<Place&, const Compressed&, bool, const Compressed&, bool, bool, const std::string&>(),
             "context"_a, "a"_a, "transpose_a"_a, "b"_a, "transpose_b"_a, "c_by_column"_a, "policy"_a)
        .def("run", &P::run)
        .def("update_values", &P::update_values, "a"_a.noconvert(), "b"_a.noconvert())
        .def_prop_ro("policy", &P::policy)
        .def("describe", &P::describe)
        .def_prop_ro("nbytes", &P::bytes)
        .def_prop_ro("nnz", &P::nonzeros)
        .def_prop_ro("products", &P::products)
        .def_prop_ro("memory", &P::memory);
    m.def(once, &multiply_once<V>, "context"_a, "a"_a, "transpose_a"_a, "b"_a, "transpose_b"_a, "c_by_column"_a);
}

}  // namespace

void bind_spgemm(nb::module_& m)
{
    bind<double>(m, "SpgemmPlan_f64", "spgemm_f64");
    bind<float>(m, "SpgemmPlan_f32", "spgemm_f32");
}

}  // namespace tulle::python

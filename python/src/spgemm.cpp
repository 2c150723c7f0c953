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
    Factors(const Compressed& a, bool transpose_a, const Compressed& b, bool transpose_b, bool c_by_column, bool sorted)
        : first(c_by_column ? b.as_rows<V>() : a.as_rows<V>()),
          second(c_by_column ? a.as_rows<V>() : b.as_rows<V>())
    {
        const Op of_a = op_of((transpose_a != a.by_column) != c_by_column),
                 of_b = op_of((transpose_b != b.by_column) != c_by_column);
        options.op_a = c_by_column ? of_b : of_a;
        options.op_b = c_by_column ? of_a : of_b;
        options.checked = false;
        options.sorted = sorted;
    }

    AnyCsr<V> first, second;
    spgemm::Options options;
};

// The arrays of C, and whether its rows are sorted.
template <class V>
nb::tuple with_order(Csr<V>&& c)
{
    const bool sorted = c.sorted;
    const nb::tuple arrays = to_python(std::move(c));
    return nb::make_tuple(arrays[0], arrays[1], arrays[2], sorted);
}

// A product on a GPU, in the library's memory until it is copied into arrays of the caller's framework.
template <class V>
class Product {
public:
    Product(const Context& ctx, Csr<V>&& c) : ctx_(ctx), c_(std::move(c)) {}

    void copy_to(Address indptr, Address indices, Address data, Address stream) const
    {
        const nb::gil_scoped_release free;
        ctx_.start_after(stream_at(stream));
        ctx_.run([&](const auto& q) {
            copy(q, c_.row_begin.data(), reinterpret_cast<offset_t*>(indptr), c_.row_begin.size());
            copy(q, c_.col.data(), reinterpret_cast<index_t*>(indices), c_.col.size());
            copy(q, c_.value.data(), reinterpret_cast<V*>(data), c_.value.size());
        });
        ctx_.finish_before(stream_at(stream));
    }
    offset_t nonzeros() const { return c_.col.size(); }

private:
    Context ctx_;
    Csr<V> c_;
};

template <class V>
class SpgemmPlan {
public:
    SpgemmPlan(Place& place, const Compressed& a, bool transpose_a, const Compressed& b, bool transpose_b,
               bool c_by_column, bool sorted, bool keep_columns, const std::string& policy)
        : a_(a),
          b_(b),
          transpose_a_(transpose_a),
          transpose_b_(transpose_b),
          c_by_column_(c_by_column),
          sorted_(sorted),
          keep_columns_(keep_columns),
          guard_(place),
          plan_(make(place.get(), factors(a, b), policy))
    {}

    nb::tuple run()
    {
        Csr<V> c = guard_.run([&] { return keep_columns_ ? run_with_columns() : plan_.run(); });
        return with_order(std::move(c));
    }

    Product<V> run_at(Address stream)
    {
        Csr<V> c;
        guard_.run_on(stream, [&] { c = plan_.run(); });
        return {guard_.context(), std::move(c)};
    }

    void update_values(const HostArray& a, const HostArray& b)
    {
        update(a_.with_values(any_place(a)), b_.with_values(any_place(b)), guard_.stream());
    }
    void update_values_at(Address a, offset_t a_size, Address b, offset_t b_size, nb::handle owner, Address stream)
    {
        update(a_.with_values_at(a, a_size, owner), b_.with_values_at(b, b_size, owner), stream);
    }

    std::string policy() const { return spgemm::to_text(plan_.policy()); }
    std::string describe() const { return plan_.describe(); }
    std::size_t bytes() const { return plan_.bytes() + kept_.row_begin.bytes() + kept_.col.bytes(); }
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
        return {a, transpose_a_, b, transpose_b_, c_by_column_, sorted_};
    }

    // The first C is computed as a whole, its offsets and columns are kept; the next get them, and only their values
    // are computed.
    Csr<V> run_with_columns()
    {
        return guard_.context().run([&](const auto& q) {
            if (kept_.row_begin.empty()) {
                Csr<V> c = plan_.run();
                kept_ = pattern_of(q, c);
                return c;
            }
            Csr<V> c = pattern_of(q, kept_);
            c.value = Buffer<V>(q, c.col.size());
            plan_.run(c);
            return c;
        });
    }

    // A copy without values.
    template <class Queue>
    static Csr<V> pattern_of(const Queue& q, const Csr<V>& c)
    {
        Csr<V> pattern{.rows = c.rows,
                       .cols = c.cols,
                       .row_begin = Buffer<offset_t>(q, c.row_begin.size()),
                       .col = Buffer<index_t>(q, c.col.size()),
                       .value = {},
                       .sorted = c.sorted};
        copy(q, c.row_begin.data(), pattern.row_begin.data(), c.row_begin.size());
        copy(q, c.col.data(), pattern.col.data(), c.col.size());
        return pattern;
    }

    void update(Compressed next_a, Compressed next_b, Address stream)
    {
        const Factors<V> f = factors(next_a, next_b);
        guard_.run_on(stream, [&] {
            plan_.update_values(f.first, f.second);
            std::swap(a_, next_a);  // what was kept until now goes when Python's lock is held again
            std::swap(b_, next_b);
        });
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
    bool transpose_a_, transpose_b_, c_by_column_, sorted_, keep_columns_;
    PlanGuard guard_;
    Plan plan_;
    Csr<V> kept_;  // without values, from the first run on, where they are to be kept
};

template <class V>
nb::tuple multiply_once(Place& place, const Compressed& a, bool transpose_a, const Compressed& b, bool transpose_b,
                        bool c_by_column, bool sorted)
{
    const Context& ctx = place.get();
    const Factors<V> f(a, transpose_a, b, transpose_b, c_by_column, sorted);
    Csr<V> c = [&] {
        const nb::gil_scoped_release free;
        return spgemm::Plan<V>::once(ctx, f.first, f.second, f.options);
    }();
    return with_order(std::move(c));
}

template <class V>
Product<V> multiply_once_at(Place& place, const Compressed& a, bool transpose_a, const Compressed& b, bool transpose_b,
                            bool c_by_column)
{
    const Context& ctx = place.get();
    const Factors<V> f(a, transpose_a, b, transpose_b, c_by_column, true);
    const nb::gil_scoped_release free;
    return {ctx, spgemm::Plan<V>::once(ctx, f.first, f.second, f.options)};
}

template <class V>
void bind(nb::module_& m, const std::string& plan, const std::string& once)
{
    using P = SpgemmPlan<V>;
    nb::class_<Product<V>>(m, (plan + "_product").c_str())
        .def("copy_to", &Product<V>::copy_to, "indptr"_a, "indices"_a, "data"_a, "stream"_a)
        .def_prop_ro("nnz", &Product<V>::nonzeros);
    nb::class_<P>(m, plan.c_str())
        .def(nb::init<Place&, const Compressed&, bool, const Compressed&, bool, bool, bool, bool, const std::string&>(),
             "context"_a, "a"_a, "transpose_a"_a, "b"_a, "transpose_b"_a, "c_by_column"_a, "sorted"_a, "keep_columns"_a,
             "policy"_a)
        .def("run", &P::run)
        .def("run_at", &P::run_at, "stream"_a)
        .def("update_values", &P::update_values, "a"_a.noconvert(), "b"_a.noconvert())
        .def("update_values_at", &P::update_values_at, "a"_a, "a_size"_a, "b"_a, "b_size"_a, "owner"_a, "stream"_a)
        .def_prop_ro("policy", &P::policy)
        .def("describe", &P::describe)
        .def_prop_ro("nbytes", &P::bytes)
        .def_prop_ro("nnz", &P::nonzeros)
        .def_prop_ro("products", &P::products)
        .def_prop_ro("memory", &P::memory);
    m.def(once.c_str(), &multiply_once<V>, "context"_a, "a"_a, "transpose_a"_a, "b"_a, "transpose_b"_a, "c_by_column"_a,
          "sorted"_a);
    m.def((once + "_at").c_str(), &multiply_once_at<V>, "context"_a, "a"_a, "transpose_a"_a, "b"_a, "transpose_b"_a,
          "c_by_column"_a);
}

}  // namespace

void bind_spgemm(nb::module_& m)
{
    bind<double>(m, "SpgemmPlan_f64", "spgemm_f64");
    bind<float>(m, "SpgemmPlan_f32", "spgemm_f32");
}

}  // namespace tulle::python

// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Graph algorithms and products over semirings for Python, on arrays of the CPU stored by rows.
#include "tulle/graph.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "arrays.hpp"

namespace tulle::python {
namespace {

// A view with offsets of 64 bits, which the functions take.
template <class V>
class Rows {
public:
    explicit Rows(const Compressed& a)
    {
        std::visit([&](const auto& view) { take(view); }, a.as_rows<V>());
    }
    Rows(const Rows&) = delete;
    Rows& operator=(const Rows&) = delete;
    const CsrView<V>& view() const { return view_; }

private:
    void take(const CsrView<V>& a) { view_ = a; }
    void take(const Csr32View<V>& a)
    {
        wide_.assign(a.row_begin, a.row_begin + a.rows + 1);
        view_ = {a.rows, a.cols, a.nonzeros, wide_.data(), a.col, a.value, a.sorted, a.unique};
    }

    std::vector<offset_t> wide_;
    CsrView<V> view_;
};

// A vector's memory, handed to NumPy.
template <class T>
nb::object array_of(std::vector<T>&& values)
{
    auto* owner = new std::vector<T>(std::move(values));
    const nb::capsule keeper(owner, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(owner->data(), {owner->size()}, keeper));
}

// What f(context, view) gives, computed without Python's lock.
template <class F>
auto on_graph(Place& place, const Compressed& a, F&& f)
{
    const Rows<double> rows(a);
    const Context& ctx = place.get();
    const nb::gil_scoped_release free;
    return f(ctx, rows.view());
}

offset_t triangles(Place& place, const Compressed& a)
{
    return on_graph(place, a, [](const Context& c, const auto& g) { return graph::count_triangles(c, g); });
}

nb::tuple pagerank(Place& place, const Compressed& a, double damping, double tolerance, int iterations,
                   const Input<double>& personalization, const Input<double>& dangling)
{
    const graph::RankOptions options{damping, tolerance, iterations, span_of(personalization), span_of(dangling)};
    graph::Ranking r =
        on_graph(place, a, [&](const Context& c, const auto& g) { return graph::pagerank(c, g, options); });
    return nb::make_tuple(array_of(std::move(r.value)), r.iterations, r.converged);
}

nb::tuple hits(Place& place, const Compressed& a, double tolerance, int iterations)
{
    graph::HubsAndAuthorities r =
        on_graph(place, a, [&](const Context& c, const auto& g) { return graph::hits(c, g, tolerance, iterations); });
    return nb::make_tuple(array_of(std::move(r.hub)), array_of(std::move(r.authority)), r.iterations, r.converged);
}

nb::tuple breadth_first(Place& place, const Compressed& a, offset_t source)
{
    const index_t from = to_count(source, "source");
    graph::Levels r =
        on_graph(place, a, [&](const Context& c, const auto& g) { return graph::breadth_first(c, g, from); });
    return nb::make_tuple(array_of(std::move(r.level)), array_of(std::move(r.parent)));
}

nb::tuple shortest_paths(Place& place, const Compressed& a, offset_t source)
{
    const index_t from = to_count(source, "source");
    graph::Paths r =
        on_graph(place, a, [&](const Context& c, const auto& g) { return graph::shortest_paths(c, g, from); });
    return nb::make_tuple(array_of(std::move(r.distance)), array_of(std::move(r.parent)));
}

nb::object components(Place& place, const Compressed& a)
{
    return array_of(on_graph(place, a, [](const Context& c, const auto& g) { return graph::components(c, g); }));
}

nb::object core_numbers(Place& place, const Compressed& a)
{
    return array_of(on_graph(place, a, [](const Context& c, const auto& g) { return graph::core_numbers(c, g); }));
}

nb::tuple cluster(Place& place, const Compressed& a, double inflation, double prune, offset_t select, offset_t recover,
                  double recover_share, int iterations)
{
    const graph::ClusterOptions options{.inflation = inflation,
                                        .prune = prune,
                                        .select = to_count(select, "select"),
                                        .recover = to_count(recover, "recover"),
                                        .recover_share = recover_share,
                                        .iterations = iterations,
                                        .progress = [](const graph::ClusterStep&) { stop_on_interrupt(); }};
    graph::Clusters r =
        on_graph(place, a, [&](const Context& c, const auto& g) { return graph::cluster(c, g, options); });
    return nb::make_tuple(array_of(std::move(r.cluster)), r.count, r.iterations, r.converged);
}

template <class V>
nb::tuple multiply_masked(Place& place, const Compressed& a, const Compressed& b, const Compressed& mask,
                          const std::string& semiring, bool complement)
{
    const Rows<V> left(a), right(b), where(mask);
    const Context& ctx = place.get();
    const graph::Semiring over = graph::parse_semiring(semiring);
    std::optional<Csr<V>> c;
    {
        const nb::gil_scoped_release free;
        c = graph::multiply_masked(ctx, over, left.view(), right.view(), where.view(), complement);
    }
    return to_python(std::move(*c));
}

graph::Triangle triangle_of(const std::string& name)
{
    if (name == "whole") return graph::Triangle::whole;
    if (name == "lower") return graph::Triangle::lower;
    if (name == "upper") return graph::Triangle::upper;
    throw ValueError(concat("there is no triangle '", name, "'"), "there are whole, lower and upper");
}

template <class V>
nb::tuple multiply_select(Place& place, const Compressed& a, const Compressed& b, const std::string& semiring,
                          double threshold, offset_t most_per_row, const std::string& triangle)
{
    const Rows<V> left(a), right(b);
    const Context& ctx = place.get();
    const graph::Semiring over = graph::parse_semiring(semiring);
    const graph::Select selection{.threshold = threshold,
                                  .most_per_row = to_count(most_per_row, "most_per_row"),
                                  .triangle = triangle_of(triangle)};
    std::optional<Csr<V>> c;
    {
        const nb::gil_scoped_release free;
        c = graph::multiply_select(ctx, over, left.view(), right.view(), selection);
    }
    return to_python(std::move(*c));
}

template <class V>
void bind_products(nb::module_& m, const std::string& type)
{
    m.def(("graph_multiply_masked_" + type).c_str(), &multiply_masked<V>, "context"_a, "a"_a, "b"_a, "mask"_a,
          "semiring"_a, "complement"_a);
    m.def(("graph_multiply_select_" + type).c_str(), &multiply_select<V>, "context"_a, "a"_a, "b"_a, "semiring"_a,
          "threshold"_a, "most_per_row"_a, "triangle"_a);
}

}  // namespace

void bind_graph(nb::module_& m)
{
    m.def("graph_triangles", &triangles, "context"_a, "a"_a);
    m.def("graph_pagerank", &pagerank, "context"_a, "a"_a, "damping"_a, "tolerance"_a, "iterations"_a,
          "personalization"_a, "dangling"_a);
    m.def("graph_hits", &hits, "context"_a, "a"_a, "tolerance"_a, "iterations"_a);
    m.def("graph_breadth_first", &breadth_first, "context"_a, "a"_a, "source"_a);
    m.def("graph_shortest_paths", &shortest_paths, "context"_a, "a"_a, "source"_a);
    m.def("graph_components", &components, "context"_a, "a"_a);
    m.def("graph_core_numbers", &core_numbers, "context"_a, "a"_a);
    m.def("graph_cluster", &cluster, "context"_a, "a"_a, "inflation"_a, "prune"_a, "select"_a, "recover"_a,
          "recover_share"_a, "iterations"_a);
    bind_products<double>(m, "f64");
    bind_products<float>(m, "f32");
}

}  // namespace tulle::python

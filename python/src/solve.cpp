// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Solvers for Python. A plan keeps the arrays of the matrix; the report of a solve goes back as a dictionary.
#include "tulle/solve.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <exception>

#include "arrays.hpp"
#include "tulle/amg.hpp"
#include "tulle/transfer.hpp"

namespace tulle::python {
namespace {

nb::dict as_dict(const solve::Report& r)
{
    nb::dict d;
    d["reason"] = solve::to_text(r.reason), d["converged"] = r.converged(), d["method"] = solve::to_text(r.method);
    d["iterations"] = r.iterations, d["inner_iterations"] = r.inner_iterations, d["restarts"] = r.restarts;
    d["residual"] = r.residual, d["relative"] = r.relative, d["target"] = r.target;
    d["value"] = r.value, d["where"] = r.where, d["note"] = r.note, d["advice"] = r.advice, d["text"] = r.text();
    d["setup_seconds"] = r.setup_seconds, d["iterate_seconds"] = r.iterate_seconds;
    d["verify_seconds"] = r.verify_seconds;
    nb::list history;
    for (const double norm : r.history) history.append(norm);
    d["history"] = history;
    return d;
}

// Ctrl-C ends a solve where it asks.
void observe(const solve::SolveProgress&) { stop_on_interrupt(); }

template <class V>
class SolverPlan {
public:
    SolverPlan(Place& place, const Compressed& a, const std::string& method, const std::string& preconditioner,
               std::optional<double> relative, double absolute, offset_t iterations, double seconds, int restart,
               bool guess, bool graphs, index_t unknowns_per_node, const Input<V>& near_null_space, index_t vectors)
        : a_(a),
          guard_(place),
          plan_(
              make(place.get(), a, method, preconditioner,
                   {.stop = {.relative = relative, .absolute = absolute, .iterations = iterations, .seconds = seconds},
                    .restart = restart,
                    .guess = guess,
                    .unknowns_per_node = unknowns_per_node,
                    .graphs = graphs ? solve::Graphs::automatic : solve::Graphs::never},
                   span_of(near_null_space), vectors))
    {}

    nb::dict solve(const Input<V>& b, const Output<V>& x)
    {
        const auto from = span_of(b);
        const auto to = span_of(x);
        require_apart(from, to);
        solve::Report report;
        guard_.run([&] { report = plan_.solve(from, to, observe); });
        return as_dict(report);
    }

    nb::dict solve_at(Address b, Address x, offset_t size, Address stream)
    {
        solve::Report report;
        guard_.run_on(stream, [&] { report = plan_.solve(span_at<const V>(b, size), span_at<V>(x, size), observe); });
        return as_dict(report);
    }

    void update_values(const HostArray& value) { update(a_.with_values(any_place(value)), guard_.stream()); }
    void update_values_at(Address value, offset_t size, nb::handle owner, Address stream)
    {
        update(a_.with_values_at(value, size, owner), stream);
    }

    std::string policy() const
    {
        const solve::Recipe& r = plan_.policy();
        return solve::to_text(*r.method) + " with " + solve::to_text(*r.preconditioner);
    }
    std::string describe() const { return plan_.describe(); }
    std::size_t bytes() const { return plan_.bytes(); }

private:
    using Plan = solve::Plan<V>;

    void update(Compressed next, Address stream)
    {
        guard_.run_on(stream, [&] {
            plan_.update_values(next.as_rows<V>());
            std::swap(a_, next);  // what was kept until now goes when Python's lock is held again
        });
    }

    static Plan make(const Context& ctx, const Compressed& a, const std::string& method,
                     const std::string& preconditioner, solve::Recipe recipe, std::span<const V> near_null_space,
                     index_t vectors)
    {
        const auto view = a.as_rows<V>();
        const nb::gil_scoped_release free;
        if (!method.empty()) recipe.method = solve::parse_method(method);
        if (!preconditioner.empty()) recipe.preconditioner = solve::parse_preconditioner(preconditioner);
        const Buffer<V> there = to_device<V>(ctx, near_null_space);
        const auto rows = vectors == 0 ? 0 : static_cast<index_t>(near_null_space.size()) / vectors;
        return Plan::make(ctx, view, recipe, {rows, vectors, vectors, Layout::row_major, there.data()});
    }

    Compressed a_;
    PlanGuard guard_;
    Plan plan_;
};

// coordinates: row after row; modes: likewise, as many rows as there are coordinates.
void rigid_body_modes(const Input<double>& coordinates, index_t dimensions, const Output<double>& modes)
{
    const auto at = span_of(coordinates);
    const auto to = span_of(modes);
    const auto points = static_cast<index_t>(at.size()) / dimensions;
    const Dense<double> made =
        amg::rigid_body_modes<double>(Context::cpu(1), {points, dimensions, dimensions, Layout::row_major, at.data()});
    std::copy_n(made.data.data(), to.size(), to.data());
}

template <class V>
void bind(nb::module_& m, const char* name)
{
    using P = SolverPlan<V>;
    nb::class_<P>(m, name)
        .def(nb::init<Place&, const Compressed&, const std::string&, const std::string&, std::optional<double>, double,
                      offset_t, double, int, bool, bool, index_t, const Input<V>&, index_t>(),
             "context"_a, "a"_a, "method"_a, "preconditioner"_a, "relative"_a.none(), "absolute"_a, "iterations"_a,
             "seconds"_a, "restart"_a, "guess"_a, "graphs"_a, "unknowns_per_node"_a, "near_null_space"_a.noconvert(),
             "vectors"_a)
        .def("solve", &P::solve, "b"_a.noconvert(), "x"_a.noconvert())
        .def("solve_at", &P::solve_at, "b"_a, "x"_a, "size"_a, "stream"_a)
        .def("update_values", &P::update_values, "data"_a.noconvert())
        .def("update_values_at", &P::update_values_at, "data"_a, "size"_a, "owner"_a, "stream"_a)
        .def_prop_ro("policy", &P::policy)
        .def("describe", &P::describe)
        .def_prop_ro("nbytes", &P::bytes);
}

}  // namespace

void bind_solve(nb::module_& m)
{
    bind<double>(m, "SolverPlan_f64");
    bind<float>(m, "SolverPlan_f32");
    m.def("rigid_body_modes", &rigid_body_modes, "coordinates"_a.noconvert(), "dimensions"_a, "modes"_a.noconvert());
}

}  // namespace tulle::python

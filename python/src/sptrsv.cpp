// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Triangular solves for Python. A plan keeps copies of all it needs; the arrays are kept for new values.
#include "tulle/sptrsv.hpp"

#include <nanobind/stl/string.h>

#include "arrays.hpp"

namespace tulle::python {
namespace {

sptrsv::Accuracy accuracy_of(const std::string& text)
{
    if (text == "fast") return sptrsv::Accuracy::fast;
    if (text == "tested") return sptrsv::Accuracy::tested;
    if (text == "substitution") return sptrsv::Accuracy::substitution;
    throw ValueError("accuracy is 'fast', 'tested' or 'substitution', not '" + text + "'");
}

template <class V>
class TriangularPlan {
public:
    TriangularPlan(Place& place, const Compressed& a, bool lower, bool transpose, bool unit_diagonal,
                   bool ignore_other_side, offset_t right_hand_sides, double calls, const std::string& accuracy,
                   const std::string& policy)
        : a_(a),
          guard_(place),
          plan_(make(place.get(), a,
                     {.uplo = lower ? sptrsv::Uplo::lower : sptrsv::Uplo::upper,
                      .op = transpose ? Op::transpose : Op::none,
                      .unit_diagonal = unit_diagonal,
                      .other_side = ignore_other_side ? sptrsv::OtherSide::ignore : sptrsv::OtherSide::refuse,
                      .right_hand_sides = to_count(right_hand_sides, "right_hand_sides"),
                      .expected_calls = calls,
                      .accuracy = accuracy_of(accuracy),
                      .checked = false},
                     policy))
    {}

    void solve(const Input<V>& b, const Output<V>& x, double alpha)
    {
        const auto from = span_of(b);
        const auto to = span_of(x);
        if (from.data() != to.data()) require_apart(from, to);  // x may be b
        guard_.run([&] { plan_.solve(static_cast<V>(alpha), from, to); });
    }

    void solve_many(const DenseInput<V>& b, const DenseOutput<V>& x, double alpha)
    {
        const DenseView<const V> from = dense_of(b);
        const DenseView<V> to = dense_of(x);
        require_apart(from, to);
        guard_.run([&] { plan_.solve(static_cast<V>(alpha), from, to); });
    }

    void solve_at(Address b, Address x, offset_t size, double alpha, Address stream)
    {
        guard_.run_on(stream,
                      [&] { plan_.solve(static_cast<V>(alpha), span_at<const V>(b, size), span_at<V>(x, size)); });
    }

    void solve_many_at(const DenseAt& b, const DenseAt& x, double alpha, Address stream)
    {
        const DenseView<const V> from = dense_at<const V>(b);
        const DenseView<V> to = dense_at<V>(x);
        guard_.run_on(stream, [&] { plan_.solve(static_cast<V>(alpha), from, to); });
    }

    void update_values(const HostArray& value) { update(a_.with_values(any_place(value)), guard_.stream()); }
    void update_values_at(Address value, offset_t size, nb::handle owner, Address stream)
    {
        update(a_.with_values_at(value, size, owner), stream);
    }

    std::string policy() const { return sptrsv::to_text(plan_.policy()); }
    std::string describe() const { return plan_.describe(); }
    std::size_t bytes() const { return plan_.bytes(); }
    index_t levels() const { return plan_.levels(); }

private:
    using Plan = sptrsv::Plan<V>;

    void update(Compressed next, Address stream)
    {
        guard_.run_on(stream, [&] {
            plan_.update_values(next.stored<sptrsv::AnyView<V>, V>());
            std::swap(a_, next);  // what was kept until now goes when Python's lock is held again
        });
    }

    static Plan make(const Context& ctx, const Compressed& a, sptrsv::Options options, const std::string& policy)
    {
        const auto view = a.stored<sptrsv::AnyView<V>, V>();
        const nb::gil_scoped_release free;
        if (!policy.empty())
            options.force = find_policy(sptrsv::candidates(sptrsv::limits_of(ctx)), policy,
                                        [](const sptrsv::Policy& p) { return sptrsv::to_text(p.kernel); });
        return Plan::make(ctx, view, options);
    }

    Compressed a_;
    PlanGuard guard_;
    Plan plan_;
};

template <class V>
void bind(nb::module_& m, const char* name)
{
    using P = TriangularPlan<V>;
    bind_common(nb::class_<P>(m, name)
                    .def(nb::init<Place&, const Compressed&, bool, bool, bool, bool, offset_t, double,
                                  const std::string&, const std::string&>(),
                         "context"_a, "a"_a, "lower"_a, "transpose"_a, "unit_diagonal"_a, "ignore_other_side"_a,
                         "right_hand_sides"_a, "expected_calls"_a, "accuracy"_a, "policy"_a)
                    .def("solve", &P::solve, "b"_a.noconvert(), "x"_a.noconvert(), "alpha"_a)
                    .def("solve_many", &P::solve_many, "b"_a.noconvert(), "x"_a.noconvert(), "alpha"_a)
                    .def("solve_at", &P::solve_at, "b"_a, "x"_a, "size"_a, "alpha"_a, "stream"_a)
                    .def("solve_many_at", &P::solve_many_at, "b"_a, "x"_a, "alpha"_a, "stream"_a))
        .def_prop_ro("levels", &P::levels);
}

}  // namespace

void bind_sptrsv(nb::module_& m)
{
    bind<double>(m, "TriangularPlan_f64");
    bind<float>(m, "TriangularPlan_f32");
}

}  // namespace tulle::python

// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Systems of equations with distributed matrices: the loop of one process (solve/loop.hpp) with methods on distributed
// vectors (solve/parts/methods.hpp). Scalars come from reproducible dot products, so they, and all decisions, are the
// same on all ranks.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

#include "device/placed.hpp"
#include "mpi/halo.hpp"
#include "mpi/system.hpp"
#include "solve/loop.hpp"
#include "solve/parts/methods.hpp"
#include "solve/policy.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::mpi {
namespace {

template <class V>
class Multigrid final : public solve::PreconditionerPlan<V> {
public:
    explicit Multigrid(std::shared_ptr<AmgPlan<V>> plan) : plan_(std::move(plan)) {}
    void apply(std::span<const V> r, std::span<V> z) override { plan_->apply(r, z); }
    void update_values(const CsrView<V>&) override {}  // not collective: System::update_multigrid() is
    std::size_t bytes() const override { return plan_->bytes(); }
    std::string describe() const override { return plan_->describe(); }

private:
    std::shared_ptr<AmgPlan<V>> plan_;
};

}  // namespace

template <class V>
System<V>::System(const DistCsr<V>& whole, SpmvPlan<V> whole_product, bool local_multigrid,
                  const solve::Unknowns<V>& known)
    : Part(whole.cluster().context(), whole.local().rows),
      a(whole),
      product(std::move(whole_product)),
      local(local_multigrid),
      unknowns(known)
{
    ctx.run([&](const auto& q) {
        residual = Buffer<V>(q, rows());
        status = Buffer<solve::Status>(q, 1);
    });
}

template <class V>
void System<V>::set_up(const solve::Preconditioner& wanted)
{
    plain = std::holds_alternative<solve::None>(wanted);
    const bool later = !local && std::holds_alternative<solve::Amg>(wanted);
    Part::set_up({a.local(), a.ghosts_below()}, later ? solve::Preconditioner{} : wanted, unknowns);
}

template <class V>
void System<V>::update_values()
{
    product.update_values();
    Part::update_values({a.local(), a.ghosts_below()});
}

template <class V>
void System<V>::set_up_multigrid(const solve::Amg& wanted, NewValues new_values)
{
    const amg::Options options = solve::amg_options(wanted, unknowns.per_node);
    multigrid = std::make_shared<AmgPlan<V>>(AmgPlan<V>::make(a, options, unknowns.near_null, new_values));
    preconditioner = std::make_unique<Multigrid<V>>(multigrid);
}

// The preconditioner of this rank's block and the vectors of the method. May throw on one rank alone.
template <class V>
void set_up_first(SolveState<V>& s)
{
    System<V>& system = *s.system;
    system.set_up(s.choice().preconditioner);
    s.iteration = solve::parts::make_iteration(system, s.choice().method, s.recipe.restart);
    s.best = system.make_vector();
    s.checked = system.make_vector();
}

// Whether b - A x is orthogonal to the columns of A. Collective.
template <class V>
bool is_least_squares(SolveState<V>& s, double norm)
{
    System<V>& system = *s.system;
    const CsrView<V> local = system.a.local();
    const double squares = std::inner_product(local.value, local.value + local.nonzeros, local.value, 0.0);
    const double scale = std::sqrt(reduce(system.a.cluster(), "norm of A", squares, std::plus<>{}));
    auto transposed = SpmvPlan<V>::make(system.a, {.op = Op::transpose});
    transposed.run(std::as_const(system.residual).span(), s.checked.span());
    return solve::is_next_to_nothing(system.norm_of(s.checked.data()), scale, system.a.rows(), norm);
}

namespace {

template <class V>
void check_vectors(const Context& ctx, const CsrView<V>& local, std::span<const V> b, std::span<V> x)
{
    require(std::ssize(b) == local.rows && std::ssize(x) == local.rows, [&] {
        return concat("the local parts of b and x have ", b.size(), " and ", x.size(), " entries, not ", local.rows);
    });
    require<ValueError>(are_apart(b, x), "b and x overlap", "give x memory of its own");
    const void *known_b = nullptr, *known_x = nullptr;
    require_placed(ctx, b.data(), b.size(), known_b, "b");
    require_placed(ctx, x.data(), x.size(), known_x, "x");
}

template <class V>
void check_values(const CsrView<V>& local, global_t first_row)
{
    const V* const end = local.value + local.nonzeros;
    const V* const bad = std::find_if_not(local.value, end, [](V v) { return std::isfinite(v); });
    require<ValueError>(
        bad == end,
        [&] {
            const offset_t* const begin = local.row_begin;
            const auto row = std::upper_bound(begin, begin + local.rows + 1, bad - local.value) - begin - 1;
            return concat("row ", first_row + row, " of the matrix (counted from 0) has a value that is not finite");
        },
        "look at the matrix with tulle validate --finite");
}

template <class V>
SolveState<V> make_state(const DistCsr<V>& a, const SolveOptions& options)
{
    SolveState<V> s{.ctx = a.cluster().context(),
                    .recipe = {.method = options.method,
                               .preconditioner = options.preconditioner,
                               .stop = options.stop,
                               .restart = options.restart,
                               .guess = options.guess,
                               .check_every = 1},
                    .candidates = {{options.method, options.preconditioner, options.restart, {}}}};
    s.recipe = solve::with_tolerance<V>(s.recipe);
    s.recipe.stop.seconds = std::numeric_limits<double>::infinity();
    return s;
}

// Rows without entries, on all ranks. Collective.
template <class V>
offset_t count_empty_rows(const DistCsr<V>& a)
{
    offset_t empty = 0;
    for (index_t i = 0; i < a.local().rows; ++i) empty += a.local().row_begin[i] == a.local().row_begin[i + 1];
    return a.cluster().sum(empty);
}

// Collective.
template <class V>
void set_up(SolveState<V>& s, const DistCsr<V>& a, const SolveOptions& options, const solve::Unknowns<V>& unknowns)
{
    auto product = SpmvPlan<V>::make(a);
    a.cluster().run_collective("solve setup", [&] {
        check_values(a.local(), a.row_cuts()[rank_of(a.cluster())]);
        s.system = std::make_unique<System<V>>(a, std::move(product), options.local_amg, unknowns);
        set_up_first(s);
    });
    const auto* const multigrid = std::get_if<solve::Amg>(&options.preconditioner);
    if (multigrid && !options.local_amg) s.system->set_up_multigrid(*multigrid, options.new_values);
    s.system->unknowns.near_null = {};  // the caller's
}

}  // namespace

template <class V>
struct SolvePlan<V>::State : SolveState<V> {
    NewValues new_values = NewValues::possible;
};

template <class V>
SolvePlan<V> SolvePlan<V>::make(const DistCsr<V>& a, const SolveOptions& options,
                                const DenseView<const V>& near_null_space)
{
    require(a.rows() == a.cols(), [&] { return concat("A is ", a.rows(), " x ", a.cols(), ", not square"); });
    require(a.row_cuts() == a.col_cuts(), "columns of A are not distributed as its rows", "leave col_cuts empty");
    const double begin = trace::now();
    auto state = std::make_unique<State>(State{make_state(a, options), options.new_values});
    State& s = *state;
    solve::check_recipe(s.recipe, sizeof(V) == sizeof(double));
    const auto* const multigrid = std::get_if<solve::Amg>(&options.preconditioner);
    require<ValueError>(!multigrid || multigrid->smooth_by.empty() || options.local_amg,
                        "levels over several ranks take no nested smoother", "set local_amg, or leave smooth_by empty");
    require<ValueError>(!multigrid || solve::storage_of(multigrid->precision) == amg::Storage::full ||
                            options.local_amg,
                        "levels over several ranks are not kept in 16 bits",
                        "set local_amg, or leave precision at automatic");
    set_up<V>(s, a, options, {options.unknowns_per_node, near_null_space});
    s.features.empty_rows = count_empty_rows(a);
    s.setup_seconds = trace::now() - begin;
    return SolvePlan(std::move(state));
}

template <class V>
solve::Report SolvePlan<V>::solve(std::span<const V> b, std::span<V> x)
{
    State& s = *state_;
    const DistCsr<V>& a = s.system->a;
    require<ValueError>(s.usable, "the plan has no values it could solve with: the last update_values failed",
                        "call update_values with values it accepts");
    a.cluster().run_collective("solve", [&] { check_vectors<V>(s.ctx, a.local(), b, x); });
    return solve::Loop<V, SolveState<V>>(s, b, x, {}).run();
}

template <class V>
void SolvePlan<V>::update_values()
{
    State& s = *state_;
    const DistCsr<V>& a = s.system->a;
    require<ValueError>(s.new_values == NewValues::possible, "the plan was made without room for new values",
                        "make it for new values (new_values of its options)");
    const double begin = trace::now();
    s.usable = false;
    a.cluster().run_collective("solve setup", [&] {
        check_values(a.local(), a.row_cuts()[rank_of(a.cluster())]);
        s.system->update_values();
    });
    s.system->update_multigrid();
    s.usable = true;
    s.setup_seconds = trace::now() - begin;
}

template <class V>
const solve::Recipe& SolvePlan<V>::policy() const
{
    return state_->recipe;
}

template <class V>
std::size_t SolvePlan<V>::bytes() const
{
    const State& s = *state_;
    return s.system->product.bytes() + s.system->bytes() + s.system->residual.bytes() + s.best.bytes() +
           s.checked.bytes();
}

template <class V>
std::string SolvePlan<V>::describe() const
{
    const State& s = *state_;
    return concat(s.system->a.cluster().describe(), "\n", to_text(s.choice().method), ", preconditioner ",
                  to_text(s.choice().preconditioner), s.system->local ? " of each rank's block" : "", "\n",
                  s.system->preconditioner->describe());
}

template <class V>
solve::Report solve(const DistCsr<V>& a, std::span<const std::type_identity_t<V>> b,
                    std::span<std::type_identity_t<V>> x, const SolveOptions& options)
{
    SolveOptions once = options;
    once.new_values = NewValues::never;
    return SolvePlan<V>::make(a, once).solve(b, x);
}

template class SolvePlan<float>;
template class SolvePlan<double>;
template solve::Report solve(const DistCsr<float>&, std::span<const float>, std::span<float>, const SolveOptions&);
template solve::Report solve(const DistCsr<double>&, std::span<const double>, std::span<double>, const SolveOptions&);

}  // namespace tulle::inline TULLE_ABI::mpi

// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Systems of equations on a team: the choice and the loop of one device (solve/loop.hpp), methods on vectors in parts
// (solve/parts/methods.hpp), products of spmv::TeamPlan.
#include "tulle/solve_team.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "base/plural.hpp"
#include "device/placed.hpp"
#include "matrix/plan_checks.hpp"
#include "partition/members.hpp"
#include "solve/candidates.hpp"
#include "solve/loop.hpp"
#include "solve/parts/methods.hpp"
#include "solve/policy.hpp"
#include "solve/team/system.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"
#include "tulle/validate.hpp"

namespace tulle::inline TULLE_ABI::solve {

namespace team {

template <class V>
void set_up_first(State<V>& s)
{
    set_up_in_turn(s, [](State<V>& t) {
        const Choice& c = t.choice();
        t.recipe.method = c.method;
        t.recipe.preconditioner = c.preconditioner;
        t.iteration.reset();
        t.system->set_up(t.a, c.preconditioner);
        t.iteration = parts::make_iteration(*t.system, c.method, c.restart > 0 ? c.restart : t.recipe.restart);
    });
}

// On the host: a question for the end of a solve that failed.
template <class V>
bool is_least_squares(State<V>& s, double norm)
{
    const CpuQueue q = s.ctx.host();
    Buffer<V> residual(q, s.a.rows), transposed(q, s.a.rows);
    s.system->to_host(s.system->residual.data(), residual.data());
    spmv::multiply(s.ctx, s.a, std::as_const(residual).span(), transposed.span(),
                   {.op = Op::transpose, .checked = false});
    const auto norm_of = [&](const V* x, offset_t n) { return std::sqrt(vector::local_dot(q, x, x, n).value()); };
    const double of_matrix = norm_of(s.a.value, s.a.nonzeros);
    return is_next_to_nothing(norm_of(transposed.data(), s.a.rows), of_matrix, s.a.rows, norm);
}

}  // namespace team

template <class V>
struct TeamPlan<V>::State : team::State<V> {
    team::Vector<V> b = {}, x = {};
};

namespace {

bool runs_in_parts(Method method)
{
    return method == Method::cg || method == Method::minres || method == Method::bicgstab || method == Method::gmres ||
           method == Method::fgmres;
}

void check_team_recipe(const Recipe& recipe)
{
    require<ValueError>(
        !recipe.method || runs_in_parts(*recipe.method),
        [&] { return concat(to_text(*recipe.method), " does not run on a team"); },
        "use cg, minres, bicgstab, gmres or fgmres");
    require<ValueError>(recipe.unknowns_per_node == 1, "cuts between members may fall inside a node",
                        "leave unknowns_per_node at 1");
}

// Orders of sums must not depend on the number of members.
Team fix_order(const Team& team)
{
    std::vector<Context> members;
    for (int member = 0; member < team.size(); ++member) members.push_back(Context(team[member]).deterministic());
    return Team(std::move(members));
}

template <class V>
Features inspect_for(const Context& host, const Team& team, const CsrView<V>& a)
{
    Features features = inspect(host, a);
    features.backend = team[0].backend();
    return features;
}

std::vector<Choice> candidates_for(const Features& features, const Recipe& recipe)
{
    std::vector<Choice> all = candidates(features, recipe);
    std::erase_if(all, [](const Choice& c) { return !runs_in_parts(c.method); });
    return all;
}

template <class V>
void check_usable(const team::State<V>& s)
{
    require<ValueError>(s.usable, "the plan has no values it could solve with: the last update_values failed",
                        "call update_values with values it accepts");
}

template <class V>
void check_whole_vectors(const team::State<V>& s, std::span<const V> b, std::span<V> x)
{
    require(std::ssize(b) == s.a.rows,
            [&] { return concat("b has ", b.size(), " entries, but A has ", s.a.rows, " rows"); });
    require(std::ssize(x) == s.a.rows,
            [&] { return concat("x has ", x.size(), " entries, but A has ", s.a.rows, " columns"); });
    const void* unknown = nullptr;
    require_placed(s.ctx, b.data(), b.size(), unknown, "b");
    require_placed(s.ctx, x.data(), x.size(), unknown, "x");
    require<ValueError>(are_apart(b, x), "b and x overlap", "give x memory of its own");
}

}  // namespace

template <class V>
TeamPlan<V> TeamPlan<V>::make(const Team& members, const AnyCsr<V>& given, const Recipe& recipe)
{
    const trace::Phase phase{"set up"};
    const double begin = trace::now();
    check_recipe(recipe, std::is_same_v<V, double>);
    check_team_recipe(recipe);
    const Context host =
        partition::host_for(std::visit([](const auto& m) { return m.nonzeros; }, given)).deterministic();
    Buffer<offset_t> wide;
    const auto a = matrix::widened<CsrView<V>>(host, given, wide);
    require(a.rows == a.cols, [&] { return concat("A must be square, not ", a.rows, " x ", a.cols); });
    check(host, a);
    auto s = std::make_unique<State>(State{team::State<V>{.ctx = host,
                                                          .a = a,
                                                          .wide = std::move(wide),
                                                          .recipe = with_tolerance<V>(recipe),
                                                          .features = inspect_for(host, members, a)}});
    s->recipe.check_every = 1;
    s->candidates = candidates_for(s->features, recipe);
    s->chosen = !recipe.preconditioner;
    s->system = std::make_unique<team::System<V>>(host, fix_order(members), a);
    for (team::Vector<V>* v : {&s->best, &s->checked, &s->b, &s->x}) *v = s->system->make_vector();
    team::set_up_first<V>(*s);  // last: a candidate has to fit what is left of the budget
    s->first = s->current;
    s->setup_seconds = s->make_seconds = trace::now() - begin;
    return TeamPlan(std::move(s));
}

template <class V>
Report TeamPlan<V>::solve(std::span<const V> b, std::span<V> x, const Observer& observe)
{
    State& s = *state_;
    check_usable<V>(s);
    check_whole_vectors<V>(s, b, x);
    s.system->from_host(b.data(), s.b.data());
    if (s.recipe.guess) s.system->from_host(x.data(), s.x.data());
    Report report = solve(observe);
    s.system->to_host(s.x.data(), x.data());
    return report;
}

template <class V>
Report TeamPlan<V>::solve(const Observer& observe)
{
    const trace::Phase phase{"solve"};
    State& s = *state_;
    check_usable<V>(s);
    using System = team::System<V>;
    Report report = solve_in_turn<V, team::State<V>>(s, typename System::Input(std::as_const(s.b).data()),
                                                     typename System::Output(s.x.data()), observe);
    s.system->product.synchronize();
    return report;
}

template <class V>
std::span<V> TeamPlan<V>::b(int member)
{
    partition::require_member(member, members());
    return state_->b.part(member);
}

template <class V>
std::span<V> TeamPlan<V>::x(int member)
{
    partition::require_member(member, members());
    return state_->x.part(member);
}

template <class V>
index_t TeamPlan<V>::begin(int member) const
{
    return state_->system->product.y_begin(member);
}

template <class V>
void TeamPlan<V>::update_values(const AnyCsr<V>& given)
{
    State& s = *state_;
    const double begin = trace::now();
    Buffer<offset_t> fresh;
    const auto a = matrix::renewed<CsrView<V>>(s.ctx, given, s.wide, fresh);
    matrix::require_same_size(matrix::size_of(s.a), matrix::size_of(a));
    Features features = inspect(s.ctx, a);
    features.backend = s.features.backend;
    s.usable = false;
    s.system->update_values(a);
    s.features = features;
    s.a = a;
    if (!fresh.empty()) s.wide = std::move(fresh);
    s.usable = true;
    s.setup_seconds = trace::now() - begin;
}

template <class V>
const Recipe& TeamPlan<V>::policy() const
{
    return state_->recipe;
}

template <class V>
const Features& TeamPlan<V>::features() const
{
    return state_->features;
}

template <class V>
index_t TeamPlan<V>::rows() const
{
    return state_->a.rows;
}

template <class V>
int TeamPlan<V>::members() const
{
    return state_->system->members();
}

template <class V>
std::vector<spmv::TeamPart> TeamPlan<V>::parts() const
{
    return state_->system->product.parts();
}

template <class V>
partition::Traffic TeamPlan<V>::traffic() const
{
    return state_->system->product.traffic();
}

template <class V>
void TeamPlan<V>::reset_traffic()
{
    state_->system->product.reset_traffic();
}

template <class V>
std::size_t TeamPlan<V>::bytes() const
{
    const State& s = *state_;
    const std::size_t vectors = s.best.bytes() + s.checked.bytes() + s.b.bytes() + s.x.bytes();
    return s.system->product.bytes() + s.system->bytes() + (s.iteration ? s.iteration->bytes() : 0) + vectors +
           s.wide.bytes();
}

template <class V>
std::string TeamPlan<V>::describe() const
{
    const State& s = *state_;
    if (!s.iteration) return "solve on a team: nothing is set up, the last solve found no memory for another method";
    const bool alike = s.system->plain || std::holds_alternative<Jacobi>(*s.recipe.preconditioner);
    return concat("solve on a team of ", members(), ": ", rows(), plural(rows(), " unknown, ", " unknowns, "),
                  s.a.nonzeros, plural(s.a.nonzeros, " stored value, ", " stored values, "),
                  sizeof(V) == 4 ? "float" : "double", "\n  method:  ", to_text(*s.recipe.method),
                  "\n  preconditioner: ", to_text(*s.recipe.preconditioner),
                  alike ? ", the same bits for any number of members" : ", of the diagonal block of each member",
                  "\n  why:     ", s.choice().why, s.skipped.empty() ? "" : concat("; ", s.skipped),
                  "\n  keeps:   ", human_bytes(bytes()), " beside the matrix", matrix::widened_text(s.wide.bytes()),
                  "\n", s.system->product.describe());
}

template class TeamPlan<float>;
template class TeamPlan<double>;

}  // namespace tulle::inline TULLE_ABI::solve

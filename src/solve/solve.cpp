// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Systems of equations, from a matrix and a recipe to x and a report.
//
//   inspect    finite values, symmetry, diagonal: one pass over the rows (inspect.cpp)
//   choose     method and preconditioner where the recipe leaves them open (policy.cpp)
//   set up     product, preconditioner, vectors of the method: the first candidate that can be made (set_up.cpp)
//   solve      iterations in blocks until b - A x, computed anew, is small enough or all candidates have failed
//              (loop.hpp)
//   columns    several right-hand sides share products with A (columns.cpp)
//   advise     what would make the next solves faster (advice.cpp)
#include "tulle/solve.hpp"

#include <utility>

#include "amg/checks.hpp"
#include "amg/near_null.hpp"
#include "base/plural.hpp"
#include "device/graph.hpp"
#include "device/placed.hpp"
#include "matrix/dense_checks.hpp"
#include "matrix/plan_checks.hpp"
#include "solve/policy.hpp"
#include "solve/state.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"
#include "tulle/validate.hpp"

namespace tulle::inline TULLE_ABI::solve {

template <class V>
struct Plan<V>::State : PlanState<V> {};

namespace {

template <class V>
void require_usable(const PlanState<V>& s)
{
    require<ValueError>(s.usable, "the plan has no values it could solve with: the last update_values failed",
                        "call update_values with values it accepts");
}

CUstream_st* stream_of(const Context& ctx)
{
    return ctx.run([](const auto& q) { return q.place().stream; });
}

// A stream for the work of one plan, where blocks of iterations are captured: nobody else puts work there.
std::shared_ptr<CUstream_st> own_stream(const Context& ctx, Graphs graphs)
{
    if (graphs == Graphs::never) return {};
    return ctx.run([](const auto& q) -> std::shared_ptr<CUstream_st> {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CudaQueue>) return cuda::borrow_stream(q.device);
        else return {};
    });
}

// While it lives the plan's stream works: after what the caller's had before, and before what that gets later.
class Turn {
public:
    Turn(const Context& ctx, CUstream_st* callers) : ctx_(ctx), callers_(callers) { ctx_.start_after(callers_); }
    ~Turn()
    {
        try {
            ctx_.finish_before(callers_);
        } catch (...) {  // an error of the GPU is told by whoever waits next
        }
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

private:
    const Context& ctx_;
    CUstream_st* callers_;
};

// How a GPU is given its work.
template <class V>
std::string blocks_text(const PlanState<V>& s)
{
    if (s.ctx.backend() == Backend::cpu) return {};
    return concat("\n  blocks:  ", s.blocks.describe(*s.iteration),
                  s.block ? concat("; several right-hand sides: ", s.block->describe_blocks()) : "");
}

// The caller's vectors, scaled.
template <class V>
Dense<V> keep_near_null(const Context& ctx, index_t rows, const DenseView<const V>& given)
{
    if (given.cols == 0) return {};
    amg::check_near_null(ctx, rows, given);
    return amg::unit_columns<V>(ctx, given);
}

}  // namespace

template <class V>
Plan<V> Plan<V>::make(const Context& ctx, const AnyCsr<V>& given, const Recipe& recipe,
                      const DenseView<const V>& near_null_space)
{
    const trace::Phase phase{"set up"};
    const double begin = trace::now();
    check_recipe(recipe, std::is_same_v<V, double>);
    Buffer<offset_t> wide;
    const auto a = matrix::widened<CsrView<V>>(ctx, given, wide);
    require(a.rows == a.cols, [&] { return concat("A must be square, not ", a.rows, " x ", a.cols); });
    check(ctx, a);
    amg::check_nodes(a.rows, recipe.unknowns_per_node);
    Context few = ctx.for_work(a.nonzeros + a.rows);
    if (few.backend() == Backend::cpu) few.deterministic();  // products tried beforehand cost more than they gain
    auto stream = own_stream(few, recipe.graphs);
    if (stream) few = few.on_stream(stream.get());
    const Turn turn(few, stream_of(ctx));
    auto s = std::make_unique<State>(State{PlanState<V>{.stream = stream,
                                                        .callers = stream_of(ctx),
                                                        .ctx = few,
                                                        .a = a,
                                                        .wide = std::move(wide),
                                                        .recipe = with_tolerance<V>(recipe),
                                                        .features = inspect(few, a)}});
    s->features.near_null_space = near_null_space.cols > 0;
    s->candidates = candidates(s->features, recipe);
    s->chosen = !recipe.preconditioner;
    s->system = std::make_unique<System<V>>(few, a);
    s->system->near_null = keep_near_null(few, a.rows, near_null_space);
    if (has_graphs(*s)) s->x = s->system->make_vector();
    s->best = s->system->make_vector();
    s->checked = s->system->make_vector();
    set_up_first<V>(*s);  // last: a candidate has to fit what is left of the budget
    s->first = s->current;
    few.synchronize();
    s->setup_seconds = s->make_seconds = trace::now() - begin;
    return Plan(std::move(s));
}

template <class V>
Report Plan<V>::solve(std::span<const V> b, std::span<V> x, const Observer& observe)
{
    const trace::Phase phase{"solve"};
    State& s = *state_;
    require_usable<V>(s);
    require(std::ssize(b) == s.a.rows,
            [&] { return concat("b has ", b.size(), " entries, but A has ", s.a.rows, " rows"); });
    require(std::ssize(x) == s.a.rows,
            [&] { return concat("x has ", x.size(), " entries, but A has ", s.a.rows, " columns"); });
    require<ValueError>(are_apart(b, x), "b and x overlap", "give x memory of its own");
    require_placed(s.ctx, b.data(), b.size(), s.known_b, "b");
    require_placed(s.ctx, x.data(), x.size(), s.known_x, "x");
    const Turn turn(s.ctx, s.callers);
    return solve_one<V>(s, b, x, observe);
}

template <class V>
std::vector<Report> Plan<V>::solve(const DenseView<const V>& b, const DenseView<V>& x, const Observer& observe)
{
    const trace::Phase phase{"solve block"};
    State& s = *state_;
    require_usable<V>(s);
    matrix::require_shape(b, s.a.rows, b.cols, "B");
    matrix::require_shape(x, s.a.rows, b.cols, "X");
    if (b.cols == 0 || s.a.rows == 0) return std::vector<Report>(static_cast<std::size_t>(b.cols));
    const auto b_reach = matrix::reach(b), x_reach = matrix::reach(x);
    require<ValueError>(b_reach.second <= x_reach.first || x_reach.second <= b_reach.first, "B and X overlap",
                        "give X memory of its own");
    require_placed(s.ctx, b.data, 1, s.known_b, "B");
    require_placed(s.ctx, x.data, 1, s.known_x, "X");
    const Turn turn(s.ctx, s.callers);
    return solve_columns<V>(s, b, x, observe);
}

template <class V>
void Plan<V>::update_values(const AnyCsr<V>& given)
{
    State& s = *state_;
    const double begin = trace::now();
    const Turn turn(s.ctx, s.callers);
    Buffer<offset_t> fresh;
    const auto a = matrix::renewed<CsrView<V>>(s.ctx, given, s.wide, fresh);
    matrix::require_same_size(matrix::size_of(s.a), matrix::size_of(a));
    Features features = inspect(s.ctx, a);
    features.near_null_space = s.features.near_null_space;
    s.usable = false;
    s.blocks.forget();
    s.system->update_values(a);
    s.features = features;
    s.a = a;
    if (s.iteration) {
        s.system->preconditioner->update_values(a);
        s.iteration->update_values(a);
    }
    if (s.block) s.block->update_values(a);
    if (!fresh.empty()) s.wide = std::move(fresh);
    s.ctx.synchronize();
    s.usable = true;
    s.setup_seconds = trace::now() - begin;
}

template <class V>
const Recipe& Plan<V>::policy() const
{
    return state_->recipe;
}

template <class V>
const Features& Plan<V>::features() const
{
    return state_->features;
}

template <class V>
index_t Plan<V>::rows() const
{
    return state_->a.rows;
}

template <class V>
std::size_t Plan<V>::bytes() const
{
    const State& s = *state_;
    const std::size_t chosen = s.iteration ? s.system->preconditioner->bytes() + s.iteration->bytes() : 0;
    const std::size_t block = s.block ? s.block->bytes() + s.block_b.bytes() + s.block_x.bytes() : 0;
    return s.system->bytes() + chosen + block + s.x.bytes() + s.best.bytes() + s.checked.bytes() + s.wide.bytes();
}

template <class V>
std::string Plan<V>::describe() const
{
    const State& s = *state_;
    if (!s.iteration) return "solve: nothing is set up, the last solve found no memory for another method";
    const std::string more = s.iteration->describe();
    const bool symmetric = s.features.symmetric;
    const bool split = s.choice().method == Method::cg && s.system->preconditioner->split() != nullptr;
    const double products =
        split ? 0 : (s.choice().method == Method::bicgstab ? 2 : 1) * (1 + s.system->preconditioner->products());
    return concat("solve on ", s.ctx.name(), ": ", s.a.rows, plural(s.a.rows, " unknown, ", " unknowns, "),
                  s.a.nonzeros, plural(s.a.nonzeros, " stored value, ", " stored values, "),
                  sizeof(V) == 4 ? "float" : "double", "\n  matrix:  ", symmetric ? "symmetric" : "not symmetric",
                  s.features.missing_diagonal > 0
                      ? concat(", ", s.features.missing_diagonal, plural(s.features.missing_diagonal, " row", " rows"),
                               " without a diagonal entry")
                  : s.features.negative_diagonal > 0
                      ? concat(", ", s.features.negative_diagonal,
                               plural(s.features.negative_diagonal, " negative diagonal entry",
                                      " negative diagonal entries"))
                      : std::string(", nonzero diagonal"),
                  "\n  method:  ", to_text(*s.recipe.method), more.empty() ? "" : concat(", ", more),
                  "\n  preconditioner: ", to_text(*s.recipe.preconditioner), "\n  why:     ", s.choice().why,
                  s.skipped.empty() ? "" : concat("; ", s.skipped), "\n  iteration: ", products,
                  plural(products, " product", " products"), " with A, beside what the preconditioner does on its own",
                  blocks_text<V>(s), "\n  keeps:   ", human_bytes(bytes()), " beside the matrix",
                  matrix::widened_text(s.wide.bytes()), "\n", s.system->preconditioner->describe());
}

template class Plan<float>;
template class Plan<double>;

}  // namespace tulle::inline TULLE_ABI::solve

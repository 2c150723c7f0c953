// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What a plan keeps, and the parts of a solve that share it.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "solve/blocks.hpp"
#include "solve/method.hpp"
#include "solve/methods/block_cg.hpp"
#include "tulle/dense.hpp"
#include "tulle/solve.hpp"

namespace tulle::inline TULLE_ABI::solve {

// S: System<V>, or what stands in its place for vectors in parts (solve/team/system.hpp, mpi/system.hpp).
template <class V, class S = System<V>>
struct PlanState {
    std::shared_ptr<CUstream_st> stream = {};  // of the plan alone, on a GPU: nobody else can come into a capture
    CUstream_st* callers = nullptr;            // stream of the context that the caller gave
    Context ctx;
    CsrView<V> a = {};
    Buffer<offset_t> wide = {};  // offsets, where the caller's have 32 bits
    Recipe recipe = {};
    Features features = {};
    std::vector<Choice> candidates = {};
    std::size_t current = 0;   // the candidate in use
    std::size_t first = 0;     // the candidate that solves begin with until another one has converged
    bool failed = false;       // the last solve did
    bool chosen = false;       // preconditioners are chosen, not the caller's
    std::string skipped = {};  // candidates before it that could not be made, and why
    std::unique_ptr<S> system = {};
    std::unique_ptr<Iteration<V, typename S::Out>> iteration = {};
    std::unique_ptr<BlockCg<V>> block = {};  // made for the first solve with several right-hand sides
    Buffer<V> block_b = {}, block_x = {};    // one column
    BlockGraphs blocks = {};                 // of the iteration
    typename S::Vector x = {};        // what iterations work on, at the same address in every solve; may be empty
    typename S::Vector best = {};     // the best x so far
    typename S::Vector checked = {};  // its residual, while the method needs its own
    double setup_seconds = 0;
    bool usable = true;              // false while update_values() is at work, and after one that failed
    double make_seconds = 0;         // of make()
    offset_t usual_iterations = -1;  // of the first solve that converged; -1: none did
    const void* known_b = nullptr;
    const void* known_x = nullptr;

    const Choice& choice() const { return candidates[current]; }
    bool is_last() const { return current + 1 == candidates.size(); }
};

// With the tolerance of V where the recipe has none.
template <class V>
Recipe with_tolerance(Recipe recipe)
{
    recipe.stop.relative = recipe.stop.relative.value_or(default_relative<V>());
    return recipe;
}

// Whether blocks are captured.
template <class State>
bool has_graphs(const State& s)
{
    return s.stream != nullptr;
}

// Iterations between two looks of the host. A look costs less than a cycle of multigrid in vain, a few dozen kernels.
template <class State>
int block_size(const State& s)
{
    const bool expensive = std::holds_alternative<Amg>(s.choice().preconditioner);
    const bool waits =
        s.choice().method == Method::refinement || std::holds_alternative<Nested>(s.choice().preconditioner);
    const int wanted = s.recipe.check_every > 0                   ? s.recipe.check_every
                       : s.ctx.backend() == Backend::cpu || waits ? 1
                       : expensive                                ? 2
                                                                  : 16;
    return std::min(wanted, most_unseen);
}

// inspect.cpp: what is seen of a matrix. ValueError where a value is not finite.
template <class V>
Features inspect(const Context& ctx, const CsrView<V>& a);

// set_up.cpp: sets up the current candidate, or the first after it that can be made.
template <class V>
void set_up_first(PlanState<V>& s);

// Whether A^T r is next to nothing beside A and r, all given by their norms; no where squares have left the range.
inline bool is_next_to_nothing(double transposed, double of_matrix, offset_t rows, double of_r)
{
    const double least = 1e-7 * of_matrix / std::sqrt(static_cast<double>(rows)) * of_r;
    return least > 1e-140 && std::isfinite(least) && transposed <= least;
}

// Whether b - A x, whose norm is given, is orthogonal to the columns of A (loop.cpp).
template <class V>
bool is_least_squares(PlanState<V>& s, double norm);

// advice.cpp: what would make the next solves faster; may be empty. usual_iterations: PlanState has it.
std::string advise(const Recipe& recipe, const Report& report, double make_seconds, offset_t& usual_iterations);

// loop.cpp: a solve with one right-hand side, arguments checked.
template <class V>
Report solve_one(PlanState<V>& s, std::span<const V> b, std::span<V> x, const Observer& observe);

// columns.cpp: A X = B, arguments checked.
template <class V>
std::vector<Report> solve_columns(PlanState<V>& s, const DenseView<const V>& b, const DenseView<V>& x,
                                  const Observer& observe);

}  // namespace tulle::inline TULLE_ABI::solve

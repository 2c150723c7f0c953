// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A X = B: columns in blocks where the method is cg, then one by one what is not finished.
#include <algorithm>
#include <cmath>
#include <utility>

#include "solve/scaling.hpp"
#include "solve/state.hpp"
#include "tulle/trace.hpp"

namespace tulle::inline TULLE_ABI::solve {
namespace {

template <class V>
class BlockSolve {
public:
    BlockSolve(PlanState<V>& state, const DenseView<const V>& b, const DenseView<V>& x, const Observer& observe)
        : s_(state),
          b_(b),
          x_(x),
          observe_(observe),
          recipe_(state.recipe)
    {}

    std::vector<Report> run()
    {
        std::vector<Report> all;
        for (index_t first = 0; first < b_.cols; first += block_columns) {
            const index_t count = std::min<index_t>(block_columns, b_.cols - first);
            std::vector<Report> part = shares_products() && count > 1
                                           ? block(first)
                                           : std::vector<Report>(static_cast<std::size_t>(count), unfinished());
            for (index_t c = 0; c < count; ++c) {
                Report& r = part[static_cast<std::size_t>(c)];
                if (!ended(r)) r = go_on(first + c, r);
                all.push_back(std::move(r));
            }
        }
        return all;
    }

private:
    static Report unfinished()
    {
        Report r;
        r.reason = Reason::stagnated;
        return r;
    }
    bool shares_products() const { return s_.iteration && s_.choice().method == Method::cg; }
    static bool ended(const Report& r)
    {
        return r.converged() || r.reason == Reason::iterations || r.reason == Reason::seconds;
    }

    BlockCg<V>& prepared()
    {
        if (!s_.block) s_.block = std::make_unique<BlockCg<V>>(*s_.system, s_.a, has_graphs(s_));
        return *s_.block;
    }

    std::vector<Report> block(index_t first)
    {
        const double begin = trace::now();
        BlockLimits limits{.stop = recipe_.stop,
                           .check_every = block_size(s_),
                           .deadline = begin + recipe_.stop.seconds,
                           .observe = {}};
        offset_t looks = 0;
        if (observe_)
            limits.observe = [&](double worst) {
                observe_({limits.check_every * looks++, worst, 1, trace::now() - begin});
            };
        const std::vector<BlockColumn> columns = prepared().solve(b_, x_, first, recipe_.guess, limits);
        std::vector<Report> all;
        for (const BlockColumn& c : columns) all.push_back(report_of(c, trace::now() - begin));
        return all;
    }

    Report report_of(const BlockColumn& c, double seconds) const
    {
        Report r = unfinished();
        if (!is_ordinary<V>(c.b_norm)) return r;  // zero, not finite or to be scaled: not for a block
        r.iterations = std::ssize(c.history) - 1;
        r.residual = c.residual;
        r.relative = c.b_norm > 0 ? c.residual / c.b_norm : 0;
        r.target = c.target;
        r.history = c.history;
        r.setup_seconds = s_.setup_seconds;
        r.iterate_seconds = seconds;
        if (c.residual <= c.target) r.reason = Reason::converged;
        else if (c.halt == Halt::none)
            r.reason = r.iterations >= recipe_.stop.iterations ? Reason::iterations : Reason::seconds;
        return r;
    }

    // One column with all that a solve does, from where the block has left it.
    Report go_on(index_t column, const Report& before)
    {
        for (Buffer<V>* v : {&s_.block_b, &s_.block_x})
            if (v->empty()) *v = s_.system->make_vector();
        const bool begun = before.iterations > 0 && std::isfinite(before.residual);
        load_column(*s_.system, b_, column, s_.block_b);
        if (begun || recipe_.guess) load_column<V>(*s_.system, x_, column, s_.block_x);
        Report r = solve_column(begun, before.iterations);
        store_column(*s_.system, s_.block_x, x_, column);
        if (!begun) return r;
        r.iterations += before.iterations;
        r.iterate_seconds += before.iterate_seconds;
        ++r.restarts;
        r.history.insert(r.history.begin(), before.history.begin(), before.history.end() - 1);
        return r;
    }

    Report solve_column(bool begun, offset_t done)
    {
        struct Restore {  // the next candidate may have changed method and preconditioner, which stay
            PlanState<V>& s;
            bool guess;
            offset_t iterations;
            ~Restore()
            {
                s.recipe.guess = guess;
                s.recipe.stop.iterations = iterations;
            }
        } restore{s_, s_.recipe.guess, s_.recipe.stop.iterations};
        if (begun) {
            s_.recipe.guess = true;
            s_.recipe.stop.iterations -= std::min(done, s_.recipe.stop.iterations);
        }
        return solve_one<V>(s_, std::as_const(s_.block_b).span(), s_.block_x.span(), observe_);
    }

    PlanState<V>& s_;
    DenseView<const V> b_;
    DenseView<V> x_;
    const Observer& observe_;
    const Recipe recipe_;
};

}  // namespace

template <class V>
std::vector<Report> solve_columns(PlanState<V>& s, const DenseView<const V>& b, const DenseView<V>& x,
                                  const Observer& observe)
{
    return BlockSolve<V>(s, b, x, observe).run();
}

template std::vector<Report> solve_columns(PlanState<float>&, const DenseView<const float>&, const DenseView<float>&,
                                           const Observer&);
template std::vector<Report> solve_columns(PlanState<double>&, const DenseView<const double>&, const DenseView<double>&,
                                           const Observer&);

}  // namespace tulle::inline TULLE_ABI::solve

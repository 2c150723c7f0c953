// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A solver inside a solver: a plan of the inner recipe as a preconditioner. It waits in every application.
#include <limits>
#include <utility>

#include "base/indented.hpp"
#include "solve/policy.hpp"
#include "solve/preconditioner.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::solve {
namespace {

template <class V>
class InnerSolver final : public PreconditionerPlan<V> {
public:
    explicit InnerSolver(Plan<V> plan) : plan_(std::move(plan)) {}
    // Where the inner solve fails, z is as good as it got: the outer method sees whether that does.
    void apply(std::span<const V> r, std::span<V> z) override { iterations_ += plan_.solve(r, z).iterations; }
    void update_values(const CsrView<V>& a) override { plan_.update_values(a); }
    std::size_t bytes() const override { return plan_.bytes(); }
    std::string describe() const override { return concat("inner solver:\n", indented(plan_.describe(), 2)); }
    bool waits() const override { return true; }
    offset_t inner_iterations() const override { return iterations_; }

private:
    Plan<V> plan_;
    offset_t iterations_ = 0;
};

}  // namespace

template <class V>
std::unique_ptr<PreconditionerPlan<V>> make_inner(const Context& ctx, const CsrView<V>& a, const Nested& nested,
                                                  const Unknowns<V>& unknowns)
{
    Recipe recipe = nested.recipe();
    recipe.explain = false;
    if (makes_fixed_steps(recipe)) {  // whatever the residual does on the way
        recipe.stop.divergence = std::numeric_limits<double>::infinity();
        recipe.stop.stagnation = 0;
    }
    if (recipe.unknowns_per_node == 1) recipe.unknowns_per_node = unknowns.per_node;
    return std::make_unique<InnerSolver<V>>(Plan<V>::make(ctx, a, recipe, unknowns.near_null));
}

template std::unique_ptr<PreconditionerPlan<float>> make_inner(const Context&, const CsrView<float>&, const Nested&,
                                                               const Unknowns<float>&);
template std::unique_ptr<PreconditionerPlan<double>> make_inner(const Context&, const CsrView<double>&, const Nested&,
                                                                const Unknowns<double>&);

}  // namespace tulle::inline TULLE_ABI::solve

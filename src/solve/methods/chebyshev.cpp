// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "solve/chebyshev.hpp"

#include "solve/method.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::solve {
namespace {

constexpr int lanczos_steps = 40;
constexpr double above = 1.05, below = 0.9;  // estimates lie inside the spectrum

template <class V>
class ChebyshevIteration final : public Iteration<V> {
public:
    ChebyshevIteration(System<V>& system, const Eigenvalues& given)
        : system_(system),
          given_(given),
          d_(system.make_vector()),
          z_(has_passes_of_its_own() ? system.make_vector() : Buffer<V>{})
    {
        find_bounds();
    }

    void start(V* x, int) override
    {
        x_ = x;
        recurrence_ = ChebyshevRecurrence(bounds_.lowest, bounds_.highest);
    }

    void iterate() override
    {
        V* r = system_.residual.data();
        const V* z = r;
        if (!z_.empty()) {
            system_.precondition(r, z_.data());
            z = z_.data();
        }
        const ChebyshevRecurrence::Step step = recurrence_.next();
        system_.pass(ChebyshevStep<V>{d_.data(), z, system_.preconditioner->inverse_diagonal(), step.keep, step.take,
                                      x_, false, system_.status.data()});
        system_.product.run(V(-1), d_.span(), V(1), system_.residual.span());
        system_.pass(RecordNorm<V>{r, system_.status.data()});
    }

    void update_values(const CsrView<V>&) override { find_bounds(); }
    std::size_t bytes() const override { return d_.bytes() + z_.bytes(); }
    std::string describe() const override
    {
        return concat("eigenvalues from ", bounds_.lowest, " to ", bounds_.highest);
    }

private:
    bool has_passes_of_its_own() const
    {
        return !system_.preconditioner->is_identity() && system_.preconditioner->inverse_diagonal() == nullptr;
    }
    void find_bounds()
    {
        bounds_ = given_;
        if (given_.lowest > 0 && given_.highest > 0) return;
        const Eigenvalues found = estimate_eigenvalues(system_, lanczos_steps);
        if (bounds_.highest <= 0) bounds_.highest = above * found.highest;
        if (bounds_.lowest <= 0) bounds_.lowest = below * found.lowest;
    }

    System<V>& system_;
    Eigenvalues given_, bounds_;
    Buffer<V> d_, z_;
    ChebyshevRecurrence recurrence_{1, 2};
    V* x_ = nullptr;
};

}  // namespace

template <class V>
std::unique_ptr<Iteration<V>> make_chebyshev(System<V>& system, const Eigenvalues& eigenvalues)
{
    return std::make_unique<ChebyshevIteration<V>>(system, eigenvalues);
}

template std::unique_ptr<Iteration<float>> make_chebyshev(System<float>&, const Eigenvalues&);
template std::unique_ptr<Iteration<double>> make_chebyshev(System<double>&, const Eigenvalues&);

}  // namespace tulle::inline TULLE_ABI::solve

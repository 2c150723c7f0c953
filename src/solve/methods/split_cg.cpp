// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Conjugate gradients with (D + L)^-1 A (D + U)^-1, where both triangles are those of A: two sweeps are an iteration,
// without a product (Eisenstat, SIAM J. Sci. Stat. Comput. 2(1), 1981). r · M^-1 r is known in every step, the norm of
// r is not: between steps that compute it, the ratio of both is taken to stay.
#include <cmath>

#include "solve/method.hpp"

namespace tulle::inline TULLE_ABI::solve {
namespace {

constexpr int steps_estimated = 8;  // at most, between two that compute the norm
constexpr double near_target = 2;   // times the target: from there on every step does

template <class V>
class SplitCg final : public Iteration<V> {
public:
    SplitCg(System<V>& system, const factor::Ssor<V>& split) : system_(system), split_(split)
    {
        for (Buffer<V>* v : {&y_, &p_, &t_, &s_}) *v = system.make_vector();
        if (split.is_ordered()) own_x_ = system.make_vector();
    }

    void start(V* x, int) override
    {
        const V* r = system_.residual.data();
        if (split_.is_ordered()) {
            split_.load(r, y_.data());
            system_.clear(own_x_.data());
            r = y_.data();
        }
        x_ = x;
        sweeps().begin_split(r, y_.data());
        system_.clear(p_.data());
        system_.clear(t_.data());
        beta_ = owed_ = 0;
        rho_ = sweeps().split_square(y_.data());
        know(status().norm);
        if (!(rho_ > 0)) halt(&status(), Halt::preconditioner_indefinite, rho_);
    }

    void iterate() override
    {
        Status& s = status();
        if (s.halt != Halt::none) return;
        const double curvature = sweeps().step_split(vectors(), beta_, owed_), alpha = rho_ / curvature;
        owed_ = 0;
        s.performed = curvature > 0 && is_finite(curvature) && is_finite(alpha) ? 1 : 0;
        if (s.performed == 0) return halt(&s, Halt::not_positive_definite, curvature);
        const double next = sweeps().advance_split(vectors(), alpha);
        owed_ = alpha;
        beta_ = next / rho_;
        rho_ = next;
        record(&s, norm());
        if (s.halt == Halt::none && !(rho_ > 0)) halt(&s, Halt::preconditioner_indefinite, rho_);
    }

    void finish() override
    {
        system_.axpby(owed_, t_.data(), 1, ordered_x());
        owed_ = 0;
        if (!split_.is_ordered()) return;
        split_.add(own_x_.data(), x_);
        system_.clear(own_x_.data());
    }

    std::size_t bytes() const override { return 4 * y_.bytes() + own_x_.bytes(); }
    std::string describe() const override { return "two sweeps an iteration, without a product"; }

private:
    const factor::Sweeps<V>& sweeps() const { return split_.sweeps(); }
    Status& status() { return *system_.status.data(); }
    V* ordered_x() { return split_.is_ordered() ? own_x_.data() : x_; }
    factor::SplitVectors<V> vectors() { return {ordered_x(), y_.data(), p_.data(), t_.data(), s_.data()}; }

    void know(double norm)
    {
        known_norm_ = norm;
        known_rho_ = rho_;
        estimated_ = 0;
    }

    // Of the residual: an estimate that is well above the target, or computed.
    double norm()
    {
        const double estimate = known_norm_ * std::sqrt(rho_ / known_rho_);
        if (++estimated_ <= steps_estimated && estimate > near_target * status().target) return estimate;
        know(std::sqrt(sweeps().residual_square(y_.data())));
        return known_norm_;
    }

    System<V>& system_;
    const factor::Ssor<V>& split_;
    Buffer<V> y_, p_, t_, s_;
    Buffer<V> own_x_;  // in the order of the sweeps: what x lacks
    V* x_ = nullptr;
    double rho_ = 0, beta_ = 0;
    double owed_ = 0;  // the step along t that x has not made yet
    double known_norm_ = 0, known_rho_ = 0;
    int estimated_ = 0;
};

}  // namespace

template <class V>
std::unique_ptr<Iteration<V>> make_split_cg(System<V>& system, const factor::Ssor<V>& split)
{
    return std::make_unique<SplitCg<V>>(system, split);
}

template std::unique_ptr<Iteration<float>> make_split_cg(System<float>&, const factor::Ssor<float>&);
template std::unique_ptr<Iteration<double>> make_split_cg(System<double>&, const factor::Ssor<double>&);

}  // namespace tulle::inline TULLE_ABI::solve

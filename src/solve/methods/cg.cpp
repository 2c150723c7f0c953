// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Conjugate gradients: a product with dot products, a pass for r, a pass for x and p; the preconditioner between the
// passes unless it is a diagonal. Without a preconditioner: a product with dot products, one pass. Pipelined:
// preconditioner, product, one pass. And eigenvalues from the coefficients.
#include <algorithm>
#include <cmath>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "solve/method.hpp"
#include "tulle/error.hpp"

namespace tulle::inline TULLE_ABI::solve {
namespace {

template <class V>
class Cg final : public Iteration<V> {
public:
    explicit Cg(System<V>& system)
        : system_(system),
          p_(system.make_vector()),
          q_(system.make_vector()),
          z_(system.preconditioner->is_identity() ? Buffer<V>{} : system.make_vector()),
          scalars_(system.template make_scalars<CgScalars>())
    {}

    void start(V* x, int) override
    {
        x_ = x;
        if (!z_.empty()) system_.precondition(system_.residual.data(), z_.data());
        system_.pass(CgStart<V>{system_.residual.data(), z(), p_.data(), scalars_.data(), system_.status.data()});
    }

    void iterate() override
    {
        const auto dots = system_.multiply_with_dots(p_.data(), q_.data());
        V* r = system_.residual.data();
        Status* status = system_.status.data();
        const V* inverse = system_.preconditioner->inverse_diagonal();
        const bool complete = z_.empty() || inverse != nullptr;
        system_.pass(CgResidual<V>{q_.data(), r, inverse, z_.data(), complete, dots, scalars_.data(), status});
        if (!complete) {
            system_.precondition(r, z_.data());
            system_.pass(CgPreconditioned<V>{r, z(), scalars_.data(), status});
        }
        system_.pass(CgDirection<V>{x_, z(), p_.data(), scalars_.data(), status});
    }

    // p · A p in float has a narrower range than r · r in double.
    bool widen_range() override { return sizeof(V) == 4 && !std::exchange(system_.dots_apart, true); }
    void update_values(const CsrView<V>&) override { system_.dots_apart = false; }

    int place() const override { return system_.dots_apart ? 1 : 0; }
    std::size_t bytes() const override { return p_.bytes() + q_.bytes() + z_.bytes() + scalars_.bytes(); }
    const CgScalars* scalars() const { return scalars_.data(); }

private:
    const V* z() const { return z_.empty() ? system_.residual.data() : z_.data(); }

    System<V>& system_;
    Buffer<V> p_, q_, z_;
    Buffer<CgScalars> scalars_;
    V* x_ = nullptr;
};

// Without a preconditioner, in one pass; as above once A p · A p has left the range of double.
class PlainCg final : public Iteration<double> {
public:
    explicit PlainCg(System<double>& system)
        : system_(system),
          p_{system.make_vector(), system.make_vector()},
          q_(system.make_vector()),
          scalars_(system.make_scalars<CgScalars>())
    {
        // An iteration that ends the solve writes no next direction; what is left of its block multiplies with that.
        system.ctx.run([&](const auto& q) { fill_zero(q, p_[1].data(), p_[1].size()); });
    }

    void start(double* x, int) override
    {
        if (wide_) return wide_->start(x, 0);
        const double* r = system_.residual.data();
        x_ = x;
        odd_ = false;
        system_.pass(CgStart<double>{r, r, p_[0].data(), scalars_.data(), system_.status.data()});
    }

    void iterate() override
    {
        if (wide_) return wide_->iterate();
        double *p = p_[odd_ ? 1 : 0].data(), *next = p_[odd_ ? 0 : 1].data();
        const auto dots = system_.multiply_with_dots(p, q_.data());
        system_.pass(CgStep<double>{q_.data(), system_.residual.data(), p, next, odd_ ? x_ : nullptr,
                                    dots.made ? dots.made : dots.summed, scalars_.data(), system_.status.data()});
        odd_ = !odd_;
    }
    // What is owed is always owed along the first of both vectors.
    void finish() override
    {
        if (!wide_) system_.pass(CgSettle<double>{x_, p_[0].data(), scalars_.data()});
    }
    bool widen_range() override
    {
        if (wide_) return false;
        wide_ = std::make_unique<Cg<double>>(system_);
        return true;
    }
    void update_values(const CsrView<double>&) override { wide_.reset(); }

    int place() const override { return wide_ ? 2 : odd_ ? 1 : 0; }
    void set_place(int place) override { odd_ = place == 1; }
    std::size_t bytes() const override
    {
        return 2 * p_[0].bytes() + q_.bytes() + scalars_.bytes() + (wide_ ? wide_->bytes() : 0);
    }

private:
    System<double>& system_;
    Buffer<double> p_[2], q_;
    Buffer<CgScalars> scalars_;
    double* x_ = nullptr;
    bool odd_ = false;                  // the next iteration has the direction p_[1]
    std::unique_ptr<Cg<double>> wide_;  // in its place
};

template <class V>
class PipelinedCg final : public Iteration<V> {
public:
    explicit PipelinedCg(System<V>& system)
        : system_(system),
          u_(system.preconditioner->is_identity() ? Buffer<V>{} : system.make_vector()),
          m_(system.preconditioner->is_identity() ? Buffer<V>{} : system.make_vector()),
          scalars_(system.template make_scalars<CgScalars>())
    {
        for (Buffer<V>* v : {&w_, &n_, &zz_, &q_, &s_, &p_}) *v = system.make_vector();
    }

    void start(V* x, int) override
    {
        V* r = system_.residual.data();
        if (!u_.empty()) system_.precondition(r, u_.data());
        v_ = {x, r, u_.empty() ? r : u_.data(), w_.data(), zz_.data(), q_.data(), s_.data(), p_.data()};
        multiply(v_.u, w_.data());
        system_.pass(PipelinedStart<V>{r, v_.u, w_.data(), scalars_.data(), system_.status.data()});
        first_ = true;
    }

    void iterate() override
    {
        if (!m_.empty()) system_.precondition(w_.data(), m_.data());
        const V* m = m_.empty() ? w_.data() : m_.data();
        multiply(m, n_.data());
        system_.pass(PipelinedStep<V>{v_, m, n_.data(), first_, scalars_.data(), system_.status.data()});
        first_ = false;
    }

    int place() const override { return first_ ? 0 : 1; }
    void set_place(int place) override { first_ = place == 0; }
    std::size_t bytes() const override { return u_.bytes() + m_.bytes() + 6 * w_.bytes() + scalars_.bytes(); }

private:
    void multiply(const V* x, V* y)
    {
        const auto n = static_cast<std::size_t>(system_.rows());
        system_.product.run({x, n}, {y, n});
    }

    System<V>& system_;
    Buffer<V> u_, m_, w_, n_, zz_, q_, s_, p_;
    Buffer<CgScalars> scalars_;
    PipelinedVectors<V> v_{};
    bool first_ = true;
};

// Eigenvalues of a symmetric tridiagonal matrix below x (Sturm sequence).
int count_below(const std::vector<double>& diagonal, const std::vector<double>& off, double x)
{
    int count = 0;
    double d = 1;
    for (std::size_t k = 0; k < diagonal.size(); ++k) {
        d = diagonal[k] - x - (k == 0 ? 0 : off[k - 1] * off[k - 1] / d);
        if (d == 0) d = -1e-300;
        if (d < 0) ++count;
    }
    return count;
}

// The smallest x with more than `below` eigenvalues below it.
double bisect(const std::vector<double>& diagonal, const std::vector<double>& off, int below, double high)
{
    double low = 0;
    for (int step = 0; step < 60; ++step) {
        const double middle = (low + high) / 2;
        (count_below(diagonal, off, middle) > below ? high : low) = middle;
    }
    return high;
}

}  // namespace

template <class V>
Eigenvalues estimate_eigenvalues(System<V>& system, int steps)
{
    Cg<V> cg(system);
    Buffer<V> x = system.make_vector();
    system.ctx.run([&](const auto& q) { vector::fill_scattered(q, system.rows(), system.residual.data()); });
    const double norm = system.norm_of(system.residual.data());
    return system.ctx.run([&](const auto& q) {
        fill_zero(q, x.data(), x.size());
        Status status{};
        status.norm = norm;
        status.target = 1e-14 * norm;
        status.limit = 1e300;
        upload(q, &status, system.status.data(), 1);
        std::vector<double> diagonal, off;
        double before = 0, highest = 0;
        cg.start(x.data(), 0);
        for (int k = 0; k < std::min<offset_t>(steps, x.size()) && status.halt == Halt::none; ++k) {
            cg.iterate();
            download(q, system.status.data(), &status, 1);
            if (status.performed == 0) break;
            const CgScalars s = read_value(q, cg.scalars());
            diagonal.push_back(1 / s.alpha + before);
            off.push_back(std::sqrt(s.beta) / s.alpha);
            before = s.beta / s.alpha;
            highest = std::max(highest, diagonal.back() + off.back() + (k > 0 ? off[off.size() - 2] : 0));
        }
        require<ValueError>(
            status.halt == Halt::none || status.halt == Halt::target,
            [&] {
                return concat("Chebyshev needs a symmetric positive definite matrix and preconditioner, but found ",
                              status.value, " for p · A p or r · M r");
            },
            "use minres, bicgstab or gmres");
        const int last = static_cast<int>(diagonal.size()) - 1;
        if (last < 0) return Eigenvalues{1, 1};
        return Eigenvalues{bisect(diagonal, off, 0, highest), bisect(diagonal, off, last, highest)};
    });
}

template <class V>
std::unique_ptr<Iteration<V>> make_cg(System<V>& system)
{
    if (const auto* split = system.preconditioner->split()) return make_split_cg(system, *split);
    if constexpr (std::is_same_v<V, double>)  // products may make dot products of floats in float
        if (system.preconditioner->is_identity()) return std::make_unique<PlainCg>(system);
    return std::make_unique<Cg<V>>(system);
}

template <class V>
std::unique_ptr<Iteration<V>> make_pipelined_cg(System<V>& system)
{
    return std::make_unique<PipelinedCg<V>>(system);
}

template Eigenvalues estimate_eigenvalues(System<float>&, int);
template Eigenvalues estimate_eigenvalues(System<double>&, int);
template std::unique_ptr<Iteration<float>> make_cg(System<float>&);
template std::unique_ptr<Iteration<double>> make_cg(System<double>&);
template std::unique_ptr<Iteration<float>> make_pipelined_cg(System<float>&);
template std::unique_ptr<Iteration<double>> make_pipelined_cg(System<double>&);

}  // namespace tulle::inline TULLE_ABI::solve

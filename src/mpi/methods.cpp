// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The methods on distributed vectors. Scalars are steps of the passes in solve/ops, done on the host of every rank with
// reproducible sums; vectors are updated entry by entry.
#include <utility>
#include <vector>

#include "base/hash.hpp"
#include "mpi/system.hpp"
#include "solve/methods/gmres_scalars.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::mpi {
namespace {

using namespace solve;

// Brings the status to the host and back.
template <class V>
class OnHost : public Iteration<V> {
public:
    explicit OnHost(System<V>& system) : system_(system) {}

    void start(V* x, int attempt) final
    {
        x_ = x;
        with_status([&](Status& status) { begin(attempt, status); });
    }
    void iterate() final
    {
        with_status([&](Status& status) {
            if (status.halt == Halt::none) step(status);
        });
    }

protected:
    virtual void begin(int attempt, Status& status) = 0;
    virtual void step(Status& status) = 0;

    const V* residual() const { return system_.residual.data(); }
    // M r in the given vector, or r itself.
    const V* preconditioned(const V* r, V* to)
    {
        if (system_.plain) return r;
        system_.precondition(r, to);
        return to;
    }
    Buffer<V> make_unless_plain() const { return system_.plain ? Buffer<V>{} : system_.make_vector(); }

    System<V>& system_;
    V* x_ = nullptr;

private:
    template <class F>
    void with_status(const F& f)
    {
        Status status = system_.ctx.run([&](const auto& q) { return read_value(q, system_.status.data()); });
        f(status);
        system_.ctx.run([&](const auto& q) { upload(q, &status, system_.status.data(), 1); });
    }
};

template <class V>
class Cg final : public OnHost<V> {
public:
    explicit Cg(System<V>& system)
        : OnHost<V>(system),
          p_(system.make_vector()),
          q_(system.make_vector()),
          z_(this->make_unless_plain())
    {}
    std::size_t bytes() const override { return p_.bytes() + q_.bytes() + z_.bytes(); }

private:
    void begin(int, Status& status) override
    {
        const V* const z = this->preconditioned(this->residual(), z_.data());
        system_.copy_vector(z, p_.data());
        const double rz = system_.dot_of(this->residual(), z);
        CgStart<V>{nullptr, nullptr, nullptr, &scalars_, &status}.finish(true, &rz);
    }
    void step(Status& status) override
    {
        V* const r = system_.residual.data();
        system_.multiply(p_.data(), q_.data());
        const double curvature = system_.dot_of(p_.data(), q_.data());
        CgResidual<V> op{nullptr, nullptr, nullptr, nullptr, system_.plain, {nullptr, &curvature}, &scalars_, &status};
        const bool on = op.load();
        if (on) system_.axpby(-op.alpha, q_.data(), 1, r);
        const double rr = on ? system_.dot_of(r, r) : 0;
        op.finish(on, &rr);
        if (!on) return;
        system_.axpby(scalars_.alpha, p_.data(), 1, x_);
        if (status.halt != Halt::none) return;
        const V* const z = this->preconditioned(r, z_.data());
        if (!system_.plain) {
            const double rz = system_.dot_of(r, z);
            CgPreconditioned<V>{nullptr, nullptr, &scalars_, &status}.finish(true, &rz);
        }
        system_.axpby(1, z, scalars_.beta, p_.data());
    }

    using OnHost<V>::system_, OnHost<V>::x_;
    Buffer<V> p_, q_, z_;
    CgScalars scalars_{};
};

template <class V>
class Minres final : public OnHost<V> {
public:
    explicit Minres(System<V>& system) : OnHost<V>(system), y_(this->make_unless_plain())
    {
        for (Buffer<V>* v : {&v_, &t_, &r1_, &r2_, &w1_, &w2_}) *v = system.make_vector();
    }
    std::size_t bytes() const override { return y_.bytes() + 6 * v_.bytes(); }

private:
    void begin(int, Status& status) override
    {
        for (Buffer<V>* v : {&r1_, &w1_, &w2_}) system_.clear(v->data());
        system_.copy_vector(this->residual(), r2_.data());
        const double product = system_.dot_of(r2_.data(), this->preconditioned(r2_.data(), y_.data()));
        MinresStart<V>{nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, &scalars_, &status}.finish(true, &product);
    }
    void step(Status& status) override
    {
        system_.axpby(1 / scalars_.beta, system_.plain ? r2_.data() : y_.data(), 0, v_.data());
        system_.multiply(v_.data(), t_.data());
        const double alpha = system_.dot_of(v_.data(), t_.data());
        MinresLanczos<V> op{nullptr, nullptr, nullptr, {nullptr, &alpha}, &scalars_, &status, false};
        op.load();
        system_.axpby(1, t_.data(), -op.before, r1_.data());
        system_.axpby(-op.here, r2_.data(), 1, r1_.data());
        op.finish(true, nullptr);
        std::swap(r1_, r2_);
        const double product = system_.dot_of(r2_.data(), this->preconditioned(r2_.data(), y_.data()));
        MinresPreconditioned<V>{nullptr, nullptr, &scalars_, &status}.finish(true, &product);
        if (status.performed) update();
    }
    // w = (v - old_epsilon w1 - delta w2) / gamma, in place of w1; x += phi w.
    void update()
    {
        const MinresScalars& s = scalars_;
        system_.axpby(1 / s.gamma, v_.data(), -s.old_epsilon / s.gamma, w1_.data());
        system_.axpby(-s.delta / s.gamma, w2_.data(), 1, w1_.data());
        system_.axpby(s.phi, w1_.data(), 1, x_);
        std::swap(w1_, w2_);
    }

    using OnHost<V>::system_, OnHost<V>::x_;
    Buffer<V> y_, v_, t_, r1_, r2_, w1_, w2_;
    MinresScalars scalars_{};
};

template <class V>
class Bicgstab final : public OnHost<V> {
public:
    explicit Bicgstab(System<V>& system)
        : OnHost<V>(system),
          y_(this->make_unless_plain()),
          z_(this->make_unless_plain())
    {
        for (Buffer<V>* v : {&shadow_, &p_, &v_, &t_}) *v = system.make_vector();
    }
    std::size_t bytes() const override { return 4 * shadow_.bytes() + y_.bytes() + z_.bytes(); }

private:
    void begin(int attempt, Status& status) override
    {
        system_.copy_vector(this->residual(), shadow_.data());
        system_.copy_vector(this->residual(), p_.data());
        if (attempt > 0) flip_signs(attempt);
        const double rho = system_.dot_of(shadow_.data(), this->residual());
        BicgstabStart<V>{nullptr, nullptr, nullptr, attempt, &scalars_, &status}.finish(true, &rho);
    }
    // After a breakdown: other signs, by the number of the row in the whole matrix.
    void flip_signs(int attempt)
    {
        system_.ctx.run([&](const auto& q) {
            std::vector<V> host(static_cast<std::size_t>(system_.rows()));
            download(q, std::as_const(shadow_).data(), host.data(), std::ssize(host));
            for (std::size_t i = 0; i < host.size(); ++i) {
                const global_t row = system_.first_row() + static_cast<global_t>(i);
                if (hash_of(static_cast<std::uint64_t>(attempt), row) % 4 == 0) host[i] = -host[i];
            }
            upload(q, host.data(), shadow_.data(), std::ssize(host));
        });
    }
    void step(Status& status) override
    {
        V* const r = system_.residual.data();
        const V* const y = this->preconditioned(p_.data(), y_.data());
        system_.multiply(y, v_.data());
        const double shadow_v = system_.dot_of(shadow_.data(), v_.data());
        BicgstabAlpha<V>{nullptr, nullptr, &scalars_, &status}.finish(true, &shadow_v);
        if (!status.performed) return;
        system_.axpby(-scalars_.alpha, v_.data(), 1, r);
        const V* const z = this->preconditioned(r, z_.data());
        system_.multiply(z, t_.data());
        stabilise(y, z, status);
        if (status.halt != Halt::none) return;
        system_.axpby(-scalars_.omega, v_.data(), 1, p_.data());
        system_.axpby(1, r, scalars_.beta, p_.data());
    }
    // x += alpha y + omega z; r = s - omega t.
    void stabilise(const V* y, const V* z, Status& status)
    {
        V* const r = system_.residual.data();
        const V* const t = t_.data();
        double product[2], sum[2];
        system_.dots_of(std::vector<VectorPair<V>>{{r, t}, {t, t}}, product);
        BicgstabUpdate<V> op{nullptr,   nullptr, nullptr, nullptr, nullptr, nullptr, {nullptr, product},
                             &scalars_, &status};
        op.load();
        system_.axpby(op.alpha, y, 1, x_);
        system_.axpby(op.omega, z, 1, x_);
        system_.axpby(-op.omega, t, 1, r);
        system_.dots_of(std::vector<VectorPair<V>>{{r, r}, {shadow_.data(), r}}, sum);
        op.finish(true, sum);
    }

    using OnHost<V>::system_, OnHost<V>::x_;
    Buffer<V> y_, z_, shadow_, p_, v_, t_;
    BicgstabScalars scalars_{};
};

// GMRES, or FGMRES, preconditioned from the right.
template <class V>
class Gmres final : public OnHost<V> {
public:
    Gmres(System<V>& system, int restart, bool flexible)
        : OnHost<V>(system),
          restart_(restart),
          flexible_(flexible && !system.plain),
          basis_(system.make_vector(offset_t{restart} + 1)),
          w_(system.make_vector()),
          doubles_(static_cast<std::size_t>(GmresScalars::doubles(restart))),
          scalars_(arrange(doubles_.data(), &columns_, restart))
    {
        if (!system.plain) preconditioned_ = system.make_vector(flexible_ ? restart : 1);
        if (!system.plain && !flexible_) sum_ = system.make_vector();
    }

    void finish() override
    {
        GmresSolve{scalars_}.finish(true, nullptr);
        const bool direct = system_.plain || flexible_;
        const V* const of = flexible_ ? preconditioned_.data() : basis_.data();
        V* const to = direct ? x_ : sum_.data();
        if (!direct) system_.clear(to);
        for (int k = 0; k < columns_; ++k) system_.axpby(scalars_.result[k], of + k * system_.rows(), 1, to);
        if (direct) return;
        system_.precondition(to, preconditioned_.data());
        system_.axpby(1, preconditioned_.data(), 1, x_);
    }
    offset_t cycle() const override { return restart_; }
    bool keeps_x() const override { return false; }
    std::size_t bytes() const override
    {
        return basis_.bytes() + preconditioned_.bytes() + sum_.bytes() + w_.bytes() + doubles_.size() * sizeof(double);
    }

private:
    void begin(int, Status& status) override
    {
        done_ = 0;
        system_.axpby(1 / status.norm, this->residual(), 0, basis_.data());
        GmresReset{scalars_, &status}.finish(true, nullptr);
    }
    void step(Status& status) override
    {
        const int count = done_ + 1;
        V* const made = preconditioned_.data() + (flexible_ ? done_ * system_.rows() : 0);
        system_.multiply(this->preconditioned(vector(done_), made), w_.data());
        for (const bool second : {false, true}) orthogonalise(count, second, status);
        const double length = *scalars_.length;
        if (status.halt == Halt::none) system_.axpby(length > 0 ? 1 / length : 0, w_.data(), 0, vector(count));
        done_ = count;
    }
    // w -= basis * dots; the second time the new column is complete.
    void orthogonalise(int count, bool second, Status& status)
    {
        std::vector<VectorPair<V>> pairs;
        for (int k = 0; k < count; ++k) pairs.push_back({vector(k), w_.data()});
        system_.dots_of(pairs, scalars_.dots);
        for (int k = 0; k < count; ++k) system_.axpby(-scalars_.dots[k], vector(k), 1, w_.data());
        const double length = second ? system_.dot_of(w_.data(), w_.data()) : 0;
        GmresSubtract<V>{nullptr, 0, count, nullptr, second, scalars_, &status}.finish(true, &length);
    }
    V* vector(int k) { return basis_.data() + k * system_.rows(); }

    using OnHost<V>::system_, OnHost<V>::x_;
    int restart_, done_ = 0, columns_ = 0;
    bool flexible_;
    Buffer<V> basis_, w_, preconditioned_, sum_;
    std::vector<double> doubles_;
    GmresScalars scalars_;
};

}  // namespace

template <class V>
std::unique_ptr<Iteration<V>> make_iteration(System<V>& system, Method method, int restart)
{
    switch (method) {
    case Method::cg: return std::make_unique<Cg<V>>(system);
    case Method::minres: return std::make_unique<Minres<V>>(system);
    case Method::bicgstab: return std::make_unique<Bicgstab<V>>(system);
    case Method::gmres: return std::make_unique<Gmres<V>>(system, restart, false);
    case Method::fgmres: return std::make_unique<Gmres<V>>(system, restart, true);
    default: break;
    }
    throw ValueError(concat(to_text(method), " does not run on distributed matrices"),
                     "use cg, minres, bicgstab, gmres or fgmres");
}

template std::unique_ptr<Iteration<float>> make_iteration(System<float>&, Method, int);
template std::unique_ptr<Iteration<double>> make_iteration(System<double>&, Method, int);

}  // namespace tulle::inline TULLE_ABI::mpi

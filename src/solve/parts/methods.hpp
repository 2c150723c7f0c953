// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The methods on vectors in parts: those of ranks (mpi/system.hpp) or of the members of a team (solve/team/system.hpp).
// Scalars are steps of the passes in solve/ops, done on the host with reproducible sums; vectors are updated entry by
// entry. A system in parts has
//
//     Value, Vector, In, Out      type of a number, a vector, and what its data() is: to read, to write
//     ctx, status, residual, plain      where the status is; the last: there is no preconditioner
//     multiply(x, y), precondition(r, z), axpby(alpha, x, beta, y), copy_vector(from, to), clear(x), flip_signs(x, k)
//     make_vector(), dot_of(x, y), dots_of(pairs, result)
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "solve/method.hpp"
#include "solve/methods/gmres_scalars.hpp"
#include "solve/parts/part.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::solve::parts {

// Brings the status to the host and back.
template <class System>
class OnHost : public Iteration<typename System::Value, typename System::Out> {
public:
    using V = typename System::Value;
    using In = typename System::In;
    using Out = typename System::Out;

    explicit OnHost(System& system) : system_(system) {}

    void start(Out x, int attempt) final
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

    In residual() const { return system_.residual.data(); }
    // M r in the given vector, or r itself.
    In preconditioned(In r, Out to)
    {
        if (system_.plain) return r;
        system_.precondition(r, to);
        return to;
    }
    typename System::Vector make_unless_plain() const
    {
        return system_.plain ? typename System::Vector{} : system_.make_vector();
    }

    System& system_;
    Out x_ = nullptr;

private:
    template <class F>
    void with_status(const F& f)
    {
        Status status = system_.ctx.run([&](const auto& q) { return read_value(q, system_.status.data()); });
        f(status);
        system_.ctx.run([&](const auto& q) { upload(q, &status, system_.status.data(), 1); });
    }
};

template <class System>
class Cg final : public OnHost<System> {
    using V = typename System::Value;
    using In = typename System::In;
    using Out = typename System::Out;
    using Vector = typename System::Vector;

public:
    explicit Cg(System& system)
        : OnHost<System>(system),
          p_(system.make_vector()),
          q_(system.make_vector()),
          z_(this->make_unless_plain())
    {}
    std::size_t bytes() const override { return p_.bytes() + q_.bytes() + z_.bytes(); }

private:
    void begin(int, Status& status) override
    {
        const In z = this->preconditioned(this->residual(), z_.data());
        system_.copy_vector(z, p_.data());
        const double rz = system_.dot_of(this->residual(), z);
        CgStart<V>{nullptr, nullptr, nullptr, &scalars_, &status}.finish(true, &rz);
    }
    void step(Status& status) override
    {
        const Out r = system_.residual.data();
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
        const In z = this->preconditioned(r, z_.data());
        if (!system_.plain) {
            const double rz = system_.dot_of(r, z);
            CgPreconditioned<V>{nullptr, nullptr, &scalars_, &status}.finish(true, &rz);
        }
        system_.axpby(1, z, scalars_.beta, p_.data());
    }

    using OnHost<System>::system_, OnHost<System>::x_;
    Vector p_, q_, z_;
    CgScalars scalars_{};
};

template <class System>
class Minres final : public OnHost<System> {
    using V = typename System::Value;
    using In = typename System::In;
    using Out = typename System::Out;
    using Vector = typename System::Vector;

public:
    explicit Minres(System& system) : OnHost<System>(system), y_(this->make_unless_plain())
    {
        for (Vector* v : {&v_, &t_, &r1_, &r2_, &w1_, &w2_}) *v = system.make_vector();
    }
    std::size_t bytes() const override { return y_.bytes() + 6 * v_.bytes(); }

private:
    void begin(int, Status& status) override
    {
        for (Vector* v : {&r1_, &w1_, &w2_}) system_.clear(v->data());
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

    using OnHost<System>::system_, OnHost<System>::x_;
    Vector y_, v_, t_, r1_, r2_, w1_, w2_;
    MinresScalars scalars_{};
};

template <class System>
class Bicgstab final : public OnHost<System> {
    using V = typename System::Value;
    using In = typename System::In;
    using Out = typename System::Out;
    using Vector = typename System::Vector;

public:
    explicit Bicgstab(System& system)
        : OnHost<System>(system),
          y_(this->make_unless_plain()),
          z_(this->make_unless_plain())
    {
        for (Vector* v : {&shadow_, &p_, &v_, &t_}) *v = system.make_vector();
    }
    std::size_t bytes() const override { return 4 * shadow_.bytes() + y_.bytes() + z_.bytes(); }

private:
    void begin(int attempt, Status& status) override
    {
        system_.copy_vector(this->residual(), shadow_.data());
        system_.copy_vector(this->residual(), p_.data());
        if (attempt > 0) system_.flip_signs(shadow_.data(), attempt);
        const double rho = system_.dot_of(shadow_.data(), this->residual());
        BicgstabStart<V>{nullptr, nullptr, nullptr, attempt, &scalars_, &status}.finish(true, &rho);
    }
    void step(Status& status) override
    {
        const Out r = system_.residual.data();
        const In y = this->preconditioned(p_.data(), y_.data());
        system_.multiply(y, v_.data());
        const double shadow_v = system_.dot_of(shadow_.data(), v_.data());
        BicgstabAlpha<V>{nullptr, nullptr, &scalars_, &status}.finish(true, &shadow_v);
        if (!status.performed) return;
        system_.axpby(-scalars_.alpha, v_.data(), 1, r);
        const In z = this->preconditioned(r, z_.data());
        system_.multiply(z, t_.data());
        stabilise(y, z, status);
        if (status.halt != Halt::none) return;
        system_.axpby(-scalars_.omega, v_.data(), 1, p_.data());
        system_.axpby(1, r, scalars_.beta, p_.data());
    }
    // x += alpha y + omega z; r = s - omega t.
    void stabilise(In y, In z, Status& status)
    {
        const Out r = system_.residual.data();
        const In t = t_.data();
        double product[2], sum[2];
        system_.dots_of(std::vector<VectorPair<In>>{{r, t}, {t, t}}, product);
        BicgstabUpdate<V> op{nullptr,   nullptr, nullptr, nullptr, nullptr, nullptr, {nullptr, product},
                             &scalars_, &status};
        op.load();
        system_.axpby(op.alpha, y, 1, x_);
        system_.axpby(op.omega, z, 1, x_);
        system_.axpby(-op.omega, t, 1, r);
        system_.dots_of(std::vector<VectorPair<In>>{{r, r}, {shadow_.data(), r}}, sum);
        op.finish(true, sum);
    }

    using OnHost<System>::system_, OnHost<System>::x_;
    Vector y_, z_, shadow_, p_, v_, t_;
    BicgstabScalars scalars_{};
};

// GMRES, or FGMRES, preconditioned from the right.
template <class System>
class Gmres final : public OnHost<System> {
    using V = typename System::Value;
    using In = typename System::In;
    using Out = typename System::Out;
    using Vector = typename System::Vector;

public:
    Gmres(System& system, int restart, bool flexible)
        : OnHost<System>(system),
          restart_(restart),
          flexible_(flexible && !system.plain),
          w_(system.make_vector()),
          doubles_(static_cast<std::size_t>(GmresScalars::doubles(restart))),
          scalars_(arrange(doubles_.data(), &columns_, restart))
    {
        for (int k = 0; k <= restart; ++k) basis_.push_back(system.make_vector());
        const int made = system.plain ? 0 : flexible_ ? restart : 1;
        for (int k = 0; k < made; ++k) preconditioned_.push_back(system.make_vector());
        if (!system.plain && !flexible_) sum_ = system.make_vector();
    }

    void finish() override
    {
        GmresSolve{scalars_}.finish(true, nullptr);
        const bool direct = system_.plain || flexible_;
        const std::vector<Vector>& of = flexible_ ? preconditioned_ : basis_;
        const Out to = direct ? x_ : sum_.data();
        if (!direct) system_.clear(to);
        for (int k = 0; k < columns_; ++k) system_.axpby(scalars_.result[k], of[at(k)].data(), 1, to);
        if (direct) return;
        system_.precondition(to, preconditioned_[0].data());
        system_.axpby(1, std::as_const(preconditioned_[0]).data(), 1, x_);
    }
    offset_t cycle() const override { return restart_; }
    bool keeps_x() const override { return false; }
    std::size_t bytes() const override
    {
        std::size_t all = sum_.bytes() + w_.bytes() + doubles_.size() * sizeof(double);
        for (const Vector& v : basis_) all += v.bytes();
        for (const Vector& v : preconditioned_) all += v.bytes();
        return all;
    }

private:
    void begin(int, Status& status) override
    {
        done_ = 0;
        system_.axpby(1 / status.norm, this->residual(), 0, vector(0));
        GmresReset{scalars_, &status}.finish(true, nullptr);
    }
    void step(Status& status) override
    {
        const int count = done_ + 1;
        const Out made = system_.plain ? nullptr : preconditioned_[at(flexible_ ? done_ : 0)].data();
        system_.multiply(this->preconditioned(vector(done_), made), w_.data());
        for (const bool second : {false, true}) orthogonalise(count, second, status);
        const double length = *scalars_.length;
        if (status.halt == Halt::none) system_.axpby(length > 0 ? 1 / length : 0, w_.data(), 0, vector(count));
        done_ = count;
    }
    // w -= basis * dots; the second time the new column is complete.
    void orthogonalise(int count, bool second, Status& status)
    {
        std::vector<VectorPair<In>> pairs;
        for (int k = 0; k < count; ++k) pairs.push_back({vector(k), w_.data()});
        system_.dots_of(pairs, scalars_.dots);
        for (int k = 0; k < count; ++k) system_.axpby(-scalars_.dots[k], vector(k), 1, w_.data());
        const double length = second ? system_.dot_of(w_.data(), w_.data()) : 0;
        GmresSubtract<V>{nullptr, 0, count, nullptr, second, scalars_, &status}.finish(true, &length);
    }
    static std::size_t at(int k) { return static_cast<std::size_t>(k); }
    Out vector(int k) { return basis_[at(k)].data(); }

    using OnHost<System>::system_, OnHost<System>::x_;
    int restart_, done_ = 0, columns_ = 0;
    bool flexible_;
    std::vector<Vector> basis_, preconditioned_;
    Vector w_, sum_;
    std::vector<double> doubles_;
    GmresScalars scalars_;
};

// Makes the iterations of a method. ValueError where it does not run on vectors in parts.
template <class System>
std::unique_ptr<Iteration<typename System::Value, typename System::Out>> make_iteration(System& system, Method method,
                                                                                        int restart)
{
    switch (method) {
    case Method::cg: return std::make_unique<Cg<System>>(system);
    case Method::minres: return std::make_unique<Minres<System>>(system);
    case Method::bicgstab: return std::make_unique<Bicgstab<System>>(system);
    case Method::gmres: return std::make_unique<Gmres<System>>(system, restart, false);
    case Method::fgmres: return std::make_unique<Gmres<System>>(system, restart, true);
    default: break;
    }
    throw ValueError(concat(to_text(method), " does not run on distributed matrices"),
                     "use cg, minres, bicgstab, gmres or fgmres");
}

}  // namespace tulle::inline TULLE_ABI::solve::parts

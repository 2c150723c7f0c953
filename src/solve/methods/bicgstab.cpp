// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "solve/method.hpp"

namespace tulle::inline TULLE_ABI::solve {
namespace {

template <class V>
class Bicgstab final : public Iteration<V> {
public:
    explicit Bicgstab(System<V>& system)
        : system_(system),
          plain_(system.preconditioner->is_identity()),
          scalars_(system.template make_scalars<BicgstabScalars>())
    {
        for (Buffer<V>* v : {&shadow_, &p_, &v_, &t_}) *v = system.make_vector();
        if (plain_) return;
        y_ = system.make_vector();
        z_ = system.make_vector();
    }

    void start(V* x, int attempt) override
    {
        x_ = x;
        system_.pass(BicgstabStart<V>{system_.residual.data(), shadow_.data(), p_.data(), attempt, scalars_.data(),
                                      system_.status.data()});
    }

    void iterate() override
    {
        V* r = system_.residual.data();
        BicgstabScalars* s = scalars_.data();
        Status* status = system_.status.data();
        const V* y = preconditioned(p_.data(), y_);
        multiply(y, v_.data());
        system_.pass(BicgstabAlpha<V>{shadow_.data(), v_.data(), s, status});
        system_.pass(BicgstabHalf<V>{r, v_.data(), s, status});
        const V* z = preconditioned(r, z_);
        const ProductDots<V> dots = multiply_stable(z, r);
        system_.pass(BicgstabUpdate<V>{x_, y, z, r, t_.data(), shadow_.data(), dots, s, status});
        system_.pass(BicgstabDirection<V>{p_.data(), r, v_.data(), s, status});
    }

    int place() const override { return 0; }
    std::size_t bytes() const override { return 4 * shadow_.bytes() + y_.bytes() + z_.bytes() + scalars_.bytes(); }

private:
    const V* preconditioned(const V* from, Buffer<V>& to)
    {
        if (plain_) return from;
        system_.precondition(from, to.data());
        return to.data();
    }
    void multiply(const V* x, V* y)
    {
        const auto n = static_cast<std::size_t>(system_.rows());
        system_.product.run({x, n}, {y, n});
    }
    // t = A z, with t · s and t · t; the product makes those where z is s.
    ProductDots<V> multiply_stable(const V* z, const V* s)
    {
        if (plain_) return system_.multiply_with_dots(z, t_.data());
        multiply(z, t_.data());
        system_.ctx.run([&](const auto& q) {
            vector::dot(q, system_.rows(), s, static_cast<const V*>(t_.data()), system_.summed.data(),
                        system_.buffer.space());
        });
        return {nullptr, system_.summed.data()};
    }

    System<V>& system_;
    bool plain_;
    Buffer<V> shadow_, p_, v_, t_, y_, z_;
    Buffer<BicgstabScalars> scalars_;
    V* x_ = nullptr;
};

}  // namespace

template <class V>
std::unique_ptr<Iteration<V>> make_bicgstab(System<V>& system)
{
    return std::make_unique<Bicgstab<V>>(system);
}

template std::unique_ptr<Iteration<float>> make_bicgstab(System<float>&);
template std::unique_ptr<Iteration<double>> make_bicgstab(System<double>&);

}  // namespace tulle::inline TULLE_ABI::solve

// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "solve/team/system.hpp"

#include <algorithm>
#include <cmath>

#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::solve::team {

template <class V>
System<V>::System(const Context& host, const Team& team, const CsrView<V>& a)
    : ctx(host),
      product(spmv::TeamPlan<V>::make(team, a, {.checked = false})),
      crew_(std::make_unique<partition::ThreadPool>(team.size()))
{
    for (int member = 0; member < team.size(); ++member)
        part.emplace_back(team[member], static_cast<index_t>(product.y(member).size()));
    residual = make_vector();
    status = Buffer<Status>(host.host(), 1);
}

template <class V>
parts::Rows<V> System<V>::rows_of(const CsrView<V>& a, int member) const
{
    const index_t first = product.y_begin(member), rows = part[static_cast<std::size_t>(member)].rows();
    CsrView<V> some = a;
    some.rows = rows;
    some.row_begin = a.row_begin + first;
    some.nonzeros = some.row_begin[rows] - some.row_begin[0];
    return {some, first};
}

template <class V>
void System<V>::set_up(const CsrView<V>& a, const Preconditioner& wanted)
{
    plain = std::holds_alternative<None>(wanted);
    each([&](parts::Part<V>& p, int member) {
        const parts::Rows<V> rows = rows_of(a, member);
        try {
            p.set_up(rows, wanted);
        } catch (const ValueError& e) {
            if (members() == 1) throw;
            throw ValueError(concat("the block of member ", member, ", whose first row is ", rows.diagonal, ": ",
                                    e.message()),
                             e.hint());
        }
    });
}

template <class V>
void System<V>::begin(double norm)
{
    each([&](parts::Part<V>& p, int) { p.preconditioner->begin(norm); });
}

template <class V>
void System<V>::update_values(const CsrView<V>& a)
{
    product.update_values(a);
    each([&](parts::Part<V>& p, int member) {
        if (p.preconditioner) p.update_values(rows_of(a, member));
    });
}

template <class V>
std::size_t System<V>::bytes() const
{
    std::size_t all = residual.bytes() + status.bytes();
    for (const parts::Part<V>& p : part) all += p.bytes();
    return all;
}

template <class V>
offset_t System<V>::inner_iterations() const
{
    offset_t most = 0;
    for (const parts::Part<V>& p : part)
        if (p.preconditioner) most = std::max(most, p.preconditioner->inner_iterations());
    return most;
}

template <class V>
void System<V>::multiply(V alpha, In x, V beta, Out y)
{
    each([&](const parts::Part<V>& p, int member) {
        p.copy_vector(x[member], product.x(member).data());
        if (beta != V(0)) p.copy_vector(y[member], product.y(member).data());
    });
    product.run(alpha, beta);
    each([&](const parts::Part<V>& p, int member) { p.copy_vector(product.y(member).data(), y[member]); });
}

template <class V>
void System<V>::precondition(In r, Out z)
{
    each([&](parts::Part<V>& p, int member) { p.precondition(r[member], z[member]); });
}

template <class V>
void System<V>::axpby(double alpha, In x, double beta, Out y)
{
    each([&](const parts::Part<V>& p, int member) { p.axpby(alpha, x[member], beta, y[member]); });
}

template <class V>
void System<V>::copy_vector(In from, Out to)
{
    each([&](const parts::Part<V>& p, int member) { p.copy_vector(from[member], to[member]); });
}

template <class V>
void System<V>::clear(Out x)
{
    each([&](const parts::Part<V>& p, int member) { p.clear(x[member]); });
}

template <class V>
void System<V>::flip_signs(Out x, int attempt)
{
    each([&](const parts::Part<V>& p, int member) { p.flip_signs(x[member], product.y_begin(member), attempt); });
}

template <class V>
Vector<V> System<V>::make_vector() const
{
    std::vector<Buffer<V>> buffers;
    for (const parts::Part<V>& p : part) buffers.push_back(p.make_vector());
    return Vector(std::move(buffers));
}

template <class V>
double System<V>::dot_of(In x, In y)
{
    double result = 0;
    const parts::VectorPair<In> pair{x, y};
    dots_of({&pair, 1}, &result);
    return result;
}

// Each member adds its products, in bins whose sums do not depend on the order; the host adds the sums of members.
template <class V>
void System<V>::dots_of(std::span<const parts::VectorPair<In>> pairs, double* result)
{
    const std::size_t count = pairs.size();
    std::vector<vector::BinnedSum> sums(part.size() * count);
    each([&](const parts::Part<V>& p, int member) {
        const std::size_t first = static_cast<std::size_t>(member) * count;
        for (std::size_t k = 0; k < count; ++k) sums[first + k] = p.dot(pairs[k].x[member], pairs[k].y[member]);
    });
    for (std::size_t k = 0; k < count; ++k) {
        for (std::size_t member = 1; member < part.size(); ++member) sums[k].add(sums[member * count + k]);
        result[k] = sums[k].value();
    }
}

template <class V>
double System<V>::norm_of(In x)
{
    return std::sqrt(dot_of(x, x));
}

template <class V>
double System<V>::compute_residual(Input b, Input x, bool zero, Vector& r)
{
    copy_vector(b.data(), r.data());
    if (!zero) multiply(V(-1), x.data(), V(1), r.data());
    return norm_of(r.data());
}

template <class V>
void System<V>::from_host(const V* x, Out to)
{
    each([&](const parts::Part<V>& p, int member) {
        p.ctx.run([&](const auto& q) { upload(q, x + product.y_begin(member), to[member], p.rows()); });
        p.ctx.synchronize();
    });
}

template <class V>
void System<V>::to_host(In x, V* to)
{
    each([&](const parts::Part<V>& p, int member) {
        p.ctx.run([&](const auto& q) { download(q, x[member], to + product.y_begin(member), p.rows()); });
        p.ctx.synchronize();
    });
}

template class System<float>;
template class System<double>;

}  // namespace tulle::inline TULLE_ABI::solve::team

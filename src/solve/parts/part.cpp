// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "solve/parts/part.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/hash.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::solve::parts {
namespace {

// Whether a preconditioner reads nothing but the diagonal.
bool needs_diagonal_alone(const Preconditioner& p)
{
    return std::holds_alternative<None>(p) || std::holds_alternative<Jacobi>(p);
}

template <class V>
class DiagonalBlock {
public:
    DiagonalBlock(const Rows<V>& rows, bool diagonal_alone) : rows_(rows), alone_(diagonal_alone) {}

    // On the host, its columns numbered as its rows.
    Csr<V> make(const CpuQueue& q) const
    {
        const CsrView<V>& a = rows_.a;
        offset_t inside = 0;
        for_each_entry([&](index_t, offset_t) { ++inside; });
        Csr<V> block = Csr<V>::make(q, a.rows, a.rows, inside);
        block.sorted = a.sorted;
        block.unique = a.unique;
        offset_t next = 0;
        std::fill_n(block.row_begin.data(), offset_t{a.rows} + 1, offset_t{0});
        for_each_entry([&](index_t i, offset_t k) {
            block.col.data()[next] = a.col[k] - rows_.diagonal;
            block.value.data()[next] = a.value[k];
            block.row_begin.data()[i + 1] = ++next;
        });
        for (index_t i = 0; i < a.rows; ++i)
            block.row_begin.data()[i + 1] = std::max(block.row_begin.data()[i], block.row_begin.data()[i + 1]);
        return block;
    }

private:
    // f(row, position) for every entry of the block.
    template <class F>
    void for_each_entry(const F& f) const
    {
        const CsrView<V>& a = rows_.a;
        for (index_t i = 0; i < a.rows; ++i)
            for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) {
                const index_t j = a.col[k] - rows_.diagonal;
                if (alone_ ? j == i : j >= 0 && j < a.rows) f(i, k);
            }
    }

    const Rows<V>& rows_;
    bool alone_;
};

}  // namespace

template <class V>
Csr<V> diagonal_block(const CpuQueue& q, const Rows<V>& rows)
{
    return DiagonalBlock<V>(rows, false).make(q);
}

template <class V>
void Part<V>::set_up(const Rows<V>& rows, const Preconditioner& wanted, const Unknowns<V>& unknowns)
{
    preconditioner.reset();
    product_.reset();
    diagonal_alone_ = needs_diagonal_alone(wanted);
    block_ = DiagonalBlock<V>(rows, diagonal_alone_).make(ctx.host());
    if (ctx.backend() != Backend::cpu) block_ = to_device(ctx, block_.view());
    product_ = std::make_unique<spmv::Plan<V>>(
        spmv::Plan<V>::make(ctx, block_.view(), {.force = spmv::Policy{spmv::Kernel::rows, 2}}));
    preconditioner =
        make_preconditioner(ctx, block_.view(), *product_, rows_ > 0 ? wanted : Preconditioner{}, unknowns);
}

template <class V>
void Part<V>::update_values(const Rows<V>& rows)
{
    const Csr<V> fresh = DiagonalBlock<V>(rows, diagonal_alone_).make(ctx.host());
    ctx.run([&](const auto& q) { upload(q, fresh.value.data(), block_.value.data(), fresh.nonzeros()); });
    product_->update_values(block_.view());
    preconditioner->update_values(block_.view());
    ctx.synchronize();
}

template <class V>
std::size_t Part<V>::bytes() const
{
    const std::size_t chosen = preconditioner ? product_->bytes() + preconditioner->bytes() : 0;
    return block_.bytes() + chosen;
}

template <class V>
void Part<V>::flip_signs(V* x, offset_t first_row, int attempt) const
{
    ctx.run([&](const auto& q) {
        std::vector<V> host(static_cast<std::size_t>(rows_));
        download(q, static_cast<const V*>(x), host.data(), rows_);
        for (std::size_t i = 0; i < host.size(); ++i) {
            const offset_t row = first_row + static_cast<offset_t>(i);
            if (hash_of(static_cast<std::uint64_t>(attempt), row) % 4 == 0) host[i] = -host[i];
        }
        upload(q, host.data(), x, rows_);
    });
}

template Csr<float> diagonal_block(const CpuQueue&, const Rows<float>&);
template Csr<double> diagonal_block(const CpuQueue&, const Rows<double>&);
template class Part<float>;
template class Part<double>;

}  // namespace tulle::inline TULLE_ABI::solve::parts

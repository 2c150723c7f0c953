// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Up to block_columns conjugate gradients at once, which share the products with A (SpMM).
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "solve/method.hpp"
#include "solve/ops/block_cg.hpp"
#include "tulle/spmm.hpp"

namespace tulle::inline TULLE_ABI::solve {

// vector::pass() over n entries of all columns.
template <class Op>
void run_block_pass(const CpuQueue& q, offset_t n, const Op& op, const vector::PassSpace& space);
template <class Op>
void run_block_pass(const CudaQueue& q, offset_t n, const Op& op, const vector::PassSpace& space);

// How one column went.
struct BlockColumn {
    double b_norm = 0, residual = 0, target = 0;  // residual: b - A x, computed anew
    Halt halt = Halt::none;
    std::vector<double> history;
};

// When a block ends early.
struct BlockLimits {
    Stop stop = {};
    int check_every = 1;
    double deadline = 0;                       // in the time of trace::now()
    std::function<void(double)> observe = {};  // told the largest residual over its target
};

// A column of a dense matrix to a vector, and back.
template <class V>
void load_column(System<V>& system, const DenseView<const V>& from, index_t column, Buffer<V>& to);
template <class V>
void store_column(System<V>& system, const Buffer<V>& from, const DenseView<V>& to, index_t column);

template <class V>
class BlockCg final : private BlockBody {
public:
    BlockCg(System<V>& system, const CsrView<V>& a, bool graphs);

    // Columns first, first + 1, …, at most block_columns of them; x holds first guesses if `guess`.
    std::vector<BlockColumn> solve(const DenseView<const V>& b, const DenseView<V>& x, index_t first, bool guess,
                                   const BlockLimits& limits);
    void update_values(const CsrView<V>& a)
    {
        blocks_.forget();
        product_.update_values(a);
    }
    std::size_t bytes() const;
    std::string describe_blocks() const { return blocks_.describe(*this); }

private:
    template <class Op>
    void pass(const Op& op)
    {
        system_.ctx.run([&](const auto& q) { run_block_pass(q, system_.rows(), op, buffer_.space()); });
    }
    DenseView<V> view(Buffer<V>& block) const
    {
        return {system_.rows(), block_columns, block_columns, Layout::row_major, block.data()};
    }
    const V* z() const { return z_.empty() ? r_.data() : z_.data(); }
    std::array<double, block_columns> norms(const Buffer<V>& block);
    void compute_residual(const DenseView<const V>& b, index_t first, index_t count, bool zero);
    void precondition();
    void start(const std::vector<BlockColumn>& columns, const Stop& stop);
    void iterate() override;
    int place() const override { return 0; }
    bool look(std::vector<BlockColumn>& columns, const BlockLimits& limits) const;

    System<V>& system_;
    spmm::Plan<V> product_;
    vector::PassBuffer buffer_;
    Buffer<V> x_, r_, p_, q_, z_;
    Buffer<V> column_, preconditioned_;  // one column, for preconditioners that are not a diagonal
    Buffer<double> dots_;
    Buffer<CgScalars> scalars_;
    Buffer<Status> status_;
    BlockGraphs blocks_;
};

}  // namespace tulle::inline TULLE_ABI::solve

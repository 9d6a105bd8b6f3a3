// Every op, and what a pass over a graph asks of any of them. A new op is a file pair here and its
// name in the list; contract.h says what the pair holds.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "plan/ops/add.h"
#include "plan/ops/add_media.h"
#include "plan/ops/attention.h"
#include "plan/ops/by_vector.h"
#include "plan/ops/clamp.h"
#include "plan/ops/conv.h"
#include "plan/ops/delta.h"
#include "plan/ops/embed.h"
#include "plan/ops/gate.h"
#include "plan/ops/gather.h"
#include "plan/ops/glu.h"
#include "plan/ops/group_norm.h"
#include "plan/ops/heads.h"
#include "plan/ops/host.h"
#include "plan/ops/latent.h"
#include "plan/ops/local_attention.h"
#include "plan/ops/matmul.h"
#include "plan/ops/merge.h"
#include "plan/ops/moe.h"
#include "plan/ops/multiply.h"
#include "plan/ops/norm.h"
#include "plan/ops/norm_parts.h"
#include "plan/ops/own_attention.h"
#include "plan/ops/own_conv.h"
#include "plan/ops/reduce.h"
#include "plan/ops/rope.h"
#include "plan/ops/scale.h"
#include "plan/ops/scan.h"
#include "plan/ops/shift.h"
#include "plan/ops/softcap.h"
#include "plan/ops/ssd.h"
#include "plan/ops/turn.h"
#include "plan/ops/unary.h"
#include "plan/ops/wkv.h"

namespace puna::plan {

template <IsOp... Ops>
using OneOf = std::variant<Ops...>;
using Op =
    OneOf<EmbedOp, NormOp, MatmulOp, RopeOp, AttentionOp, GatherOp, AddOp, ScaleOp, SoftcapOp,
          GluOp, MoeOp, HeadsOp, LatentOp, NormPartsOp, MultiplyOp, GateOp, ConvOp, SsdOp, DeltaOp,
          GroupNormOp, AddMediaOp, OwnAttentionOp, TurnOp, MergeOp, ReduceOp, ByVectorOp, UnaryOp,
          ScanOp, ShiftOp, WkvOp, HostOp, ClampOp, OwnConvOp, LocalAttentionOp>;

// "blk.3.ffn_down"; ops without a label of their own are called by what they do.
std::string label(const Op& op);

// Values an op reads and writes; one that it updates in place is in both.
std::vector<ValueId> reads(const Op& op);
std::vector<ValueId> writes(const Op& op);
// Makes it use `to` wherever it used `from`.
void rename(Op& op, ValueId from, ValueId to);
bool keeps_rows_apart(const Op& op);
// Weights that an op multiplies by or looks up in, and what else of the file it reads.
std::vector<WeightId> weights(const Op& op);
std::vector<Constant> constants(const Op& op);

// What it needs beside its values while it runs: in the batch class it is lowered for, and on the
// CPU with up to `rows` rows.
uint64_t gpu_scratch_bytes(const Op& op, const GpuLowering& at);
uint64_t cpu_scratch_bytes(const Op& op, const Graph& graph, uint32_t rows, int n_threads);

}  // namespace puna::plan

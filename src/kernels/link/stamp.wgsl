// Tells the device that waits for this one: its step's number in every line (link.h), with the top bit where the step has failed.
@group(0) @binding(B_LINES) var<storage, read_write> lines: array<u32>;
@group(0) @binding(B_STATE) var<storage, read_write> state: array<u32>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  lines[id.x * LINE_WORDS] = state[GIVEN] | (state[FAILED] << 31u);
}

// Ends when another device has stamped the lines with the number that this one waits for (link.h), or when there are no lines left. One
// invocation: it reads each line once, and passes the time between two of them with reads of its own device's memory.
@group(0) @binding(B_LINES) var<storage, read_write> lines: array<atomic<u32>>;
@group(0) @binding(B_STATE) var<storage, read_write> state: array<atomic<u32>>;

// What reading a line takes, in reads of the device's memory.
const LINE_READS = 5u;

@compute @workgroup_size(1)
fn main() {
  let number = atomicLoad(&state[TAKEN]);
  var failed = 1u;
  var waited = 0u;  // in such reads
  for (var line = 0u; line < LINES; line++) {
    let stamp = atomicLoad(&lines[line * LINE_WORDS]);
    if ((stamp & 0x7fffffffu) == number) {
      failed = stamp >> 31u;
      break;
    }
    let reads = waited / GROWTH;
    for (var i = 0u; i < reads; i++) {
      if (atomicLoad(&state[IDLE]) != 0u) { break; }
    }
    waited += reads + LINE_READS;
  }
  atomicStore(&state[FAILED], failed);
}

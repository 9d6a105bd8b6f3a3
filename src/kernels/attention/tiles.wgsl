// What the kernels over tiles of keys (attention_prefill.wgsl, attention_matrix.wgsl) have in common; `pages` is theirs.
const LOG2_E = 1.4426950408889634;

// The cache row of a KV head's key, of the sequence whose pages begin at `table`.
fn cache_row(table: u32, kv_head: u32, key: u32) -> u32 {
#ifdef OWN_KEYS
  return key * ROW_HEADS + N_HEADS + kv_head;
#else
  return kv_row(pages[table + key / PAGE_TOKENS], N_KV_HEADS, kv_head, key);
#endif
}

// The same of its value.
#ifdef OWN_KEYS
#define V_ROW(table, kv_head, key) (cache_row(table, kv_head, key) + N_KV_HEADS)
#else
#define V_ROW(table, kv_head, key) cache_row(table, kv_head, key)
#endif

// In the loop over a tile's rows: the run of rows of one sequence from run_begin on, and the keys that any of them sees.
    let sequence = step[STEP_SEQUENCES + run_begin];
#ifdef PLACES
    var lowest = first_seen(run_begin, step[STEP_POSITIONS + run_begin]);
    var highest = last_seen(run_begin, step[STEP_POSITIONS + run_begin]);
#else
    var lowest = step[STEP_POSITIONS + run_begin];
    var highest = lowest;
#endif
    var run_end = run_begin + 1u;
    while (run_end < tile_end && step[STEP_SEQUENCES + run_end] == sequence) {
#ifdef PLACES
      lowest = min(lowest, first_seen(run_end, step[STEP_POSITIONS + run_end]));
#else
      lowest = min(lowest, step[STEP_POSITIONS + run_end]);
#endif
      highest = max(highest, LAST_SEEN(run_end, step[STEP_POSITIONS + run_end]));
      run_end++;
    }

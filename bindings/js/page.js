// What the engine asks of its worker, as an Emscripten library. engine_host.ts sets Module.page to an object with readNow, read,
// write, answer, answerBytes, later and log.

addToLibrary({
  $PunaPage: {
    taken: {},  // bytes of reads that the engine has not taken yet, by request
    // Texts of thrown values.
    text: (error) => stringToNewUTF8(String(error?.message ?? error)),
  },
  $PunaPage__deps: ['$stringToNewUTF8', '$UTF8ToString'],

  puna_page_read_now: (part, offset, out, n) => {
    try {
#if SHARED_MEMORY
      // Not every browser's files are read into memory that threads share.
      const bytes = new Uint8Array(n);
      Module.page.readNow(part, offset, bytes);
      HEAPU8.set(bytes, out);
#else
      Module.page.readNow(part, offset, HEAPU8.subarray(out, out + n));
#endif
      return 0;
    } catch (error) {
      return PunaPage.text(error);
    }
  },
  puna_page_read_now__deps: ['$PunaPage'],
  puna_page_read: (request, part, offset, n) => {
    // Into bytes of its own: the memory of the engine may move before the read is over.
    const bytes = new Uint8Array(n);
    Module.page.read(part, offset, bytes)
        .then(() => { PunaPage.taken[request] = bytes; })
        .then(() => 0, (error) => PunaPage.text(error))
        .then((error) => {
          _puna_page_read_done(request, error);
          delete PunaPage.taken[request];
        });
  },
  puna_page_read__deps: ['$PunaPage', 'puna_page_read_done'],
  puna_page_take: (request, out, n) => {
    HEAPU8.set(PunaPage.taken[request].subarray(0, n), out);
  },
  puna_page_take__deps: ['$PunaPage'],
  puna_page_write: (file, bytes, n) => {
    try {
#if SHARED_MEMORY
      Module.page.write(file, HEAPU8.slice(bytes, bytes + n));
#else
      Module.page.write(file, HEAPU8.subarray(bytes, bytes + n));
#endif
      return 0;
    } catch (error) {
      return PunaPage.text(error);
    }
  },
  puna_page_write__deps: ['$PunaPage'],
  puna_page_answer: (request, kind, json, bytes) => Module.page.answer(request, kind, JSON.parse(UTF8ToString(json, bytes))),
  puna_page_answer__deps: ['$UTF8ToString'],
  puna_page_answer_bytes: (request, bytes, n) => Module.page.answerBytes(request, HEAPU8.slice(bytes, bytes + n)),
  puna_page_later: (resume) => Module.page.later(() => _puna_page_resume(resume)),
  puna_page_later__deps: ['puna_page_resume'],
  puna_page_log: (level, text, bytes) => Module.page.log(level, UTF8ToString(text, bytes)),
  puna_page_log__deps: ['$UTF8ToString'],
});

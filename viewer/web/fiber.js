// What ../data/fiber.cpp asks of the browser: a stack that can be left and returned to.  Where there is none, nothing is started.
mergeInto(LibraryManager.library, {
  locus_fiber_available: function() { return typeof WebAssembly.Suspending === "function"; },
  locus_fiber_start: function(run, fiber) {
    requestAnimationFrame(function() { WebAssembly.promising(wasmTable.get(run))(fiber); });
  },
  locus_fiber_suspend: "=typeof WebAssembly.Suspending === 'function' ? " +
    "new WebAssembly.Suspending(function() { return new Promise(requestAnimationFrame); }) : function() {}",
});

// Where a program under node finds ICU's tables: emscripten hides the machine's environment from it.
Module["preRun"] = () => { ENV["ICU_DATA"] = process.env["ICU_DATA"]; };

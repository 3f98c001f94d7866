// Plain JavaScript: it is loaded by every process of a test, before the test runner.
import asyncHooks from "node:async_hooks";

/*
 * Node's test runner follows each promise of the process from its making to its end, servers and clients among it, so that an error
 * which nobody caught fails the test that it came from. That is an eighth and more of what files cost that send many requests. Without it such an
 * error may fail the file instead, as it does after the end of a test (test/scripts/promise-hooks.test.ts). Suites and
 * tests, timers and sockets are followed as ever.
 */
const { createHook } = asyncHooks;
asyncHooks.createHook = (callbacks) => {
  const isOfTestRunner = new Error().stack.includes("node:internal/test_runner/");
  return createHook(isOfTestRunner ? { ...callbacks, trackPromises: false } : callbacks);
};

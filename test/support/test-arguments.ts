/** Options of Node's test runner whose value may follow after a space. */
const WITH_VALUE = ["--test-name-pattern", "--test-skip-pattern", "--test-timeout", "--test-concurrency", "--import"];

/**
 * The arguments of `npm test`, with each of these options and its value in one: alone, the value would be taken for the name of a test file,
 * and the option would take as its value whatever Node is given next.
 */
export function joinedArguments(given: readonly string[]): string[] {
  const joined: string[] = [];
  for (let at = 0; at < given.length; at++) {
    const argument = given[at] as string;
    const value = given[at + 1];
    if (WITH_VALUE.includes(argument) && value !== undefined) {
      joined.push(`${argument}=${value}`);
      at++;
    } else joined.push(argument);
  }
  return joined;
}

import { readdir, readFile } from "node:fs/promises";

/** The body of a successful request, and the body of its answer. */
export interface Example {
  request: unknown;
  answer: unknown;
}

/** Tests generate the examples. Each is named after its operation's path. The folder is at the same place in a clone and in a package. */
const FOLDER = new URL("../../docs/examples/", import.meta.url);

/** Examples by operation path. An operation may have none yet. */
export async function readExamples(): Promise<ReadonlyMap<string, Example>> {
  const files = (await readdir(FOLDER)).filter((file) => file.endsWith(".json"));
  const read = async (file: string): Promise<[string, Example]> => [
    file.slice(0, -".json".length),
    JSON.parse(await readFile(new URL(file, FOLDER), "utf8")) as Example,
  ];
  return new Map(await Promise.all(files.map(read)));
}

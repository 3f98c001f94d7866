import { existsSync } from "node:fs";

/** The published SDK of Spark, its WebAssembly among it: a package of its own (`test/vectors/generate/spark/README.md`). */

const FOLDER = "test/vectors/generate/spark";
export const sparkPackage = new URL(`../../${FOLDER}/`, import.meta.url);

/** Why nothing can be compared with it, and what helps; false where it is installed. */
export const noSparkPackage: string | false =
  !existsSync(new URL("node_modules/", sparkPackage)) &&
  `${FOLDER} is not installed: npm ci --ignore-scripts --prefix ${FOLDER}`;

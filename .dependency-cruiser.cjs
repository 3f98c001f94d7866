/** The layers of docs/architecture.md: imports run downwards only. */
const layers = [
  ["kernel", []],
  ["crypto", ["kernel"]],
  ["policy", ["kernel"]],
  ["chains", ["crypto", "kernel"]],
  ["storage", ["kernel"]],
  ["signer", ["crypto", "kernel"]],
  ["delivery", ["kernel"]],
  ["nodes", ["chains", "delivery", "crypto", "kernel"]],
  ["engine", ["signer", "storage", "policy", "chains", "crypto", "delivery", "kernel"]],
  ["capabilities", ["engine", "nodes", "signer", "storage", "policy", "chains", "crypto", "delivery", "kernel"]],
  ["http", ["engine", "storage", "signer", "kernel"]],
];

module.exports = {
  forbidden: [
    ...layers.map(([layer, below]) => ({
      name: `${layer}-imports-downwards`,
      severity: "error",
      from: { path: `^src/${layer}/` },
      to: { path: "^src/", pathNot: `^src/(${[layer, ...below].join("|")})/` },
    })),
    {
      name: "capabilities-share-models-and-stores",
      comment: "A capability uses another one's model or store, never its operations.",
      severity: "error",
      from: { path: "^src/capabilities/([^/]+)/" },
      to: { path: "^src/capabilities/([^/]+)/", pathNot: "^src/capabilities/($1/|[^/]+/(model|store)\\.ts$)" },
    },
    {
      name: "plaintext-keys-stay-in-the-signer",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/signer/process/" },
      to: { path: "^src/signer/process/" },
    },
    {
      name: "no-cycles",
      severity: "error",
      from: { path: "^src/" },
      to: { circular: true, viaOnly: { dependencyTypesNot: ["type-only"] } },
    },
    {
      name: "no-cycles-of-types",
      comment: "Types alone make a cycle too. The engine has some left; without the pathNot this is the rule for all.",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/engine/" },
      to: { circular: true },
    },
    { name: "product-without-tests", severity: "error", from: { path: "^src/", pathNot: "\\.test\\.ts$" }, to: { path: "^(test|bench)/" } },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    doNotFollow: { path: "node_modules" },
    enhancedResolveOptions: { extensions: [".ts", ".js"] },
  },
};

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { capabilities } from "../../src/capabilities/index.ts";
import { combineManifests } from "../../src/engine/capability.ts";
import { loadConfig, StartProblem } from "../../src/main/config.ts";
import type { Json } from "../support/client.ts";
import { objectsIn, renderChart, type Setting } from "../support/helm-chart.ts";
import { KEYSTEAD, temporaryFolder } from "../support/server-process.ts";

const pathOf = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const textOf = (path: string) => readFileSync(pathOf(path), "utf8");
const UNIT = "deploy/systemd/keystead.service";

describe("what is there to deploy with", () => {
  for (const path of [
    UNIT,
    "deploy/container/Containerfile",
    "deploy/container/compose.yaml",
    "deploy/helm/keystead/templates/deployment.yaml",
    "docs/guide/deploying.md",
  ]) {
    it(`names settings that there are: ${path}`, () => {
      const names = textOf(path).match(/\b(KEYSTEAD_[A-Z_]*[A-Z]|DATABASE_URL(_FILE)?)\b/g) ?? [];
      assert.ok(names.length > 0);
      for (const name of names) {
        try {
          loadConfig({ [name]: "" });
        } catch (error) {
          assert.ok(!(error instanceof StartProblem), `${path}: ${(error as Error).message}`);
          throw error;
        }
      }
    });
  }

  it("runs the command that there is", () => {
    const [, bin] =
      /node_modules\/keystead\/(bin\/keystead\.js)"\]\nCMD/.exec(textOf("deploy/container/Containerfile")) ?? [];
    assert.deepEqual(readFileSync(pathOf(bin as string)), readFileSync(KEYSTEAD));
    const [, major] = /^FROM node:(\d+)-/m.exec(textOf("deploy/container/Containerfile")) ?? [];
    assert.equal(major, process.versions.node.split(".")[0]);
  });

  it("tells in the guide how to run a command beside it, by the names that there are", () => {
    const guide = textOf("docs/guide/deploying.md");
    const [, bySystemd = ""] = /```sh\n(sudo systemd-run .+)\n```/.exec(guide) ?? [];
    const unit = textOf(UNIT);
    const places = [
      "DynamicUser",
      "StateDirectory",
      "StateDirectoryMode",
      "LogsDirectory",
      "LogsDirectoryMode",
      "UMask",
    ];
    for (const name of [...places, "EnvironmentFile", "LoadCredential"])
      assert.ok(bySystemd.includes(` -p ${new RegExp(`^${name}=.+$`, "m").exec(unit)?.[0]} `), name);
    // A dynamic user has the name of the unit.
    assert.ok(bySystemd.includes(" -p User=keystead "));
    const [, command] = /^ExecStart=(\S+) serve$/m.exec(unit) ?? [];
    assert.ok(bySystemd.endsWith(` ${command} doctor`));
    const [, program] = /\nENTRYPOINT \["node", "(\S+)"\]/.exec(textOf("deploy/container/Containerfile")) ?? [];
    const inContainers = [`docker compose exec keystead node ${program} doctor`];
    inContainers.push(`kubectl exec deploy/keystead -c keystead -- node ${program} doctor`);
    for (const line of inContainers) assert.ok(guide.includes(`\n${line}\n`), line);
    assert.match(textOf("deploy/container/compose.yaml"), /^services:\n {2}keystead:$/m);
    assert.match(textOf("deploy/helm/keystead/templates/deployment.yaml"), /^ {8}- name: keystead$/m);
  });

  it("names in the guide each key that can be rotated", () => {
    const guide = textOf("docs/guide/operating.md");
    const [, table = ""] = /\| `keystead rotate …` [^\n]+\n([\s\S]+?)\n\n/.exec(guide) ?? [];
    const named = table
      .split("\n")
      .flatMap((row) => [...(row.split("|")[1] ?? "").matchAll(/`(\w+)`/g)].map(([, name]) => name));
    const kinds = combineManifests(capabilities).serviceKeys.map(({ purpose }) => purpose);
    assert.deepEqual(named.toSorted(), kinds.toSorted());
  });

  it("tells in the guide which migrations build an index on a table that is there already", () => {
    const guide = textOf("docs/guide/upgrading.md");
    const folder = "src/storage/migrations";
    // Those before it are of the time before several servers shared a database.
    const numbered = readdirSync(pathOf(folder)).filter((name) => /^[0-9]{4}-/.test(name) && name >= "0046");
    const tablesIn = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, table]) => table as string);
    const building = numbered.filter((name) => {
      const text = textOf(`${folder}/${name}`);
      const made = tablesIn(text, /table\(db, kind, "(\w+)"/g);
      return tablesIn(text, /\.on\("(\w+)"\)/g).some((table) => !made.includes(table));
    });
    assert.ok(building.length >= 4);
    for (const name of building) assert.match(guide, new RegExp(`\\b${name.slice(0, 4)} on\\s`), name);
  });

  const chart = pathOf("deploy/helm/keystead");
  it("is a chart of this version", () => {
    const { version } = JSON.parse(textOf("package.json")) as { version: string };
    assert.match(
      textOf("deploy/helm/keystead/Chart.yaml"),
      new RegExp(`^version: ${version}\nappVersion: "${version}"$`, "m"),
    );
    assert.match(textOf("deploy/helm/keystead/values.yaml"), new RegExp(`^ {2}tag: "${version}"$`, "m"));
  });

  const helm = (process.env.PATH ?? "")
    .split(delimiter)
    .map((folder) => join(folder, "helm"))
    .find((path) => existsSync(path));
  const runHelm = (...args: string[]) =>
    execFileSync(helm as string, args, { encoding: "utf8", stdio: "pipe", env: { HOME: temporaryFolder() } });
  const renderByHelm = (settings: readonly Setting[]) =>
    objectsIn("helm template", runHelm("template", "keys", chart, ...settings.flatMap((each) => ["--set", each])));

  /** By the chart's own schema and templates, and where Helm is installed by Helm, which has to come to the same. */
  function render(...settings: Setting[]): Json[] {
    const objects = renderChart(chart, "keys", settings);
    if (helm !== undefined) assert.deepEqual(inOrder(renderByHelm(settings)), inOrder(objects));
    return objects;
  }
  const nameOf = ({ kind, metadata }: Json) => `${kind} ${metadata.name}`;
  const inOrder = (objects: Json[]) => objects.toSorted((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1));
  const namesOf = (objects: Json[]) => inOrder(objects).map(nameOf);

  it("is a chart of one server with a volume, and of several with PostgreSQL", () => {
    if (helm !== undefined)
      assert.match(runHelm("lint", "--strict", chart), /1 chart\(s\) linted, 0 chart\(s\) failed/);
    const one = render();
    const apart = ["ConfigMap keys", "Deployment keys"];
    const services = ["Service keys", "Service keys-admin"];
    assert.deepEqual(namesOf(one), [...apart, "PersistentVolumeClaim keys", ...services]);
    const alone = deploymentIn(one);
    assert.deepEqual([alone.spec.replicas, alone.spec.strategy.type], [1, "Recreate"]);
    assert.doesNotMatch(JSON.stringify(one), /_FILE|secretName|initContainers/);
    holdTogether(one);

    const secrets = ["database", "rootKey", "passphrase"].map((name) => `secrets.${name}Secret=the-${name}`);
    const several = render("replicas=3", ...secrets, "settings.KEYSTEAD_PUBLIC_URL=https://keys.example.com");
    assert.deepEqual(namesOf(several), [...apart, ...services]);
    const shared = deploymentIn(several);
    assert.deepEqual([shared.spec.replicas, shared.spec.strategy.type], [3, "RollingUpdate"]);
    const { volumes, containers } = shared.spec.template.spec;
    assert.deepEqual(volumes.flatMap(({ secret }: Json) => secret?.secretName ?? []).sort(), [
      "the-database",
      "the-passphrase",
      "the-rootKey",
    ]);
    const environment = new Map(containers[0].env.map(({ name, value }: Json) => [name, value]));
    assert.equal(environment.get("KEYSTEAD_PUBLIC_URL"), "https://keys.example.com");
    assert.equal(environment.get("DATABASE_URL_FILE"), "/run/secrets/database/database-url");
    holdTogether(several);
  });

  const deploymentIn = (objects: Json[]): Json => objects.find(({ kind }) => kind === "Deployment");

  /** What one part of a release names, another one has. */
  function holdTogether(objects: Json[]): void {
    const named = namesOf(objects);
    for (const object of objects) {
      const { apiVersion, kind, metadata, spec, data, ...more } = object;
      assert.ok(apiVersion && kind && (spec ?? data), nameOf(object));
      const { name, labels, annotations, ...others } = metadata;
      assert.deepEqual([more, others], [{}, {}], nameOf(object));
      assert.equal(labels["app.kubernetes.io/instance"], "keys", name);
    }
    const { spec } = deploymentIn(objects);
    const { metadata, spec: pod } = spec.template;
    const isSelected = (selector: Json) =>
      Object.entries(selector).every(([label, value]) => metadata.labels[label] === value);
    assert.ok(isSelected(spec.selector.matchLabels), "the deployment knows its pods");
    const [container] = pod.containers;
    const ports = container.ports.map(({ name }: Json) => name);
    for (const service of objects.filter(({ kind }) => kind === "Service")) {
      assert.ok(isSelected(service.spec.selector), nameOf(service));
      for (const { targetPort } of service.spec.ports) assert.ok(ports.includes(targetPort), nameOf(service));
    }
    for (const probe of ["livenessProbe", "startupProbe", "readinessProbe"])
      assert.ok(ports.includes(container[probe].httpGet.port), probe);

    const all = [...(pod.initContainers ?? []), ...pod.containers];
    const mounts = all.flatMap(({ volumeMounts }) => volumeMounts);
    const distinct = (names: string[]) => [...new Set(names)].sort();
    assert.deepEqual(distinct(mounts.map(({ name }) => name)), distinct(pod.volumes.map(({ name }: Json) => name)));
    for (const { configMap, persistentVolumeClaim } of pod.volumes) {
      if (configMap) assert.ok(named.includes(`ConfigMap ${configMap.name}`), configMap.name);
      const claim = persistentVolumeClaim?.claimName;
      if (claim) assert.ok(named.includes(`PersistentVolumeClaim ${claim}`), claim);
    }
    const settings = container.env.map(({ name }: Json) => name);
    assert.deepEqual(settings.toSorted(), distinct(settings), "each setting once");
    for (const { value } of container.env.filter(({ name }: Json) => /_FILE$|_CONFIG$/.test(name)))
      assert.ok(
        container.volumeMounts.some(({ mountPath }: Json) => value.startsWith(`${mountPath}/`)),
        value,
      );

    assert.equal(pod.securityContext.runAsNonRoot, true);
    for (const { name, securityContext } of all) {
      const { allowPrivilegeEscalation, readOnlyRootFilesystem, capabilities } = securityContext;
      assert.deepEqual(
        [allowPrivilegeEscalation, readOnlyRootFilesystem, capabilities.drop],
        [false, true, ["ALL"]],
        name,
      );
    }
    const delay = Number(container.env.find(({ name }: Json) => name === "KEYSTEAD_SHUTDOWN_DELAY_SECONDS").value);
    assert.ok(pod.terminationGracePeriodSeconds >= delay + 15, "open requests and jobs have their time");
  }

  it("is a chart whose schema refuses what cannot work", () => {
    for (const [refused, setting] of [
      // Of this one the schema's `then` is told.
      ["", "replicas=2"],
      ["settings", "settings.KEYSTEAD_ROOT_KEY_PASSPHRASE=x"],
      ["settings", "settings.PATH=x"],
      ["service", "service.type=Open"],
      ["replica", "replica=2"],
      ["persistence", "persistence.size=much"],
    ] as const) {
      assert.throws(
        () => renderChart(chart, "keys", [setting]),
        ({ message }: Error) => {
          assert.match(message, /^the values do not fit the schema/);
          assert.ok(message.includes(refused), message);
          return true;
        },
      );
      if (helm !== undefined)
        assert.throws(
          () => renderByHelm([setting]),
          ({ stderr }: { stderr: string }) => stderr.includes(refused),
        );
    }
  });

  const analyze = "/usr/bin/systemd-analyze";
  it("is a unit that systemd takes, and that leaves little open", {
    skip: !existsSync(analyze) && "systemd-analyze is not installed",
  }, () => {
    // What it runs is not installed here.
    const unit = textOf(UNIT).replace(/^ExecStart=.*$/m, `ExecStart=${process.execPath}`);
    const file = join(temporaryFolder(), "keystead.service");
    writeFileSync(file, unit);
    execFileSync(analyze, ["verify", "--man=no", file], { stdio: "pipe" });
    // In tenths: above this it exits with a failure.
    execFileSync(analyze, ["security", "--offline=true", "--threshold=20", file], { stdio: "pipe" });
  });
});

import { after, before, describe, it } from "node:test";
import { type MovedClock, play, type Scenario } from "../support/scenario.ts";
import { engines, startTestServer, type TestServer } from "../support/server.ts";

const is = (name: string) => `approvers.any(user, user.id == '{${name}}')`;
const tagged = (tag: string) => `approvers.filter(user, user.tags.contains('{${tag}}')).count()`;
const passkey = "credentials.any(credential, credential.type == 'CREDENTIAL_TYPE_WEBAUTHN_AUTHENTICATOR')";
const three = { ada: {}, bob: {}, carol: {} };
const both = { both: { consensus: `${is("ada")} && ${is("bob")}` } };
const CONSENSUS = "CONSENSUS_NEEDED";
/** The root user stands above policies and may always vote. */
const root = "ar";
const waiting = { becomes: CONSENSUS, outcomes: { both: "REQUIRES_CONSENSUS" } };
const quorum = { threshold: 2, members: ["root", "ada"] };
const rename: [string, object] = ["update_organization_name", { organizationName: "Renamed" }];
const newKey = { apiKeyName: "new", publicKey: "{new.key}", curveType: "API_KEY_CURVE_P256" };
const removeFrom = (tag: string, name: string): [string, object] => [
  "update_user_tag",
  { userTagId: `{${tag}}`, addUserIds: [], removeUserIds: [`{${name}}`] },
];

const scenarios: Scenario[] = [
  {
    name: "two users together",
    people: three,
    policies: both,
    steps: [
      { who: "ada", does: "submits", ...waiting, may: { root, ada: "r", bob: "ar" } },
      { who: "bob", does: "approves", becomes: "COMPLETED", outcomes: { both: "ALLOW" } },
      { who: "bob", does: "approves", becomes: 400, says: /can no longer be voted on: its status is .*COMPLETED/ },
    ],
  },
  {
    name: "the same body from the second user is a vote, from the first it is the same activity",
    people: three,
    policies: both,
    steps: [
      { who: "bob", does: "submits", ...waiting, may: { root, ada: "ar", bob: "r" } },
      { who: "bob", does: "submits", ...waiting, may: { root, ada: "ar", bob: "r" } },
      { who: "ada", does: "submits", becomes: "COMPLETED", outcomes: { both: "ALLOW" } },
      { who: "ada", does: "submits", becomes: "COMPLETED" },
    ],
  },
  {
    name: "others have no vote, and are told who has",
    people: three,
    policies: both,
    steps: [
      { who: "ada", does: "submits", ...waiting, may: { root, ada: "r", bob: "ar" } },
      { who: "carol", does: "approves", becomes: 403, outcomes: { both: "DENY_IMPLICIT" }, says: /user\.id ==/ },
      { who: "carol", does: "rejects", becomes: 403, outcomes: { both: "DENY_IMPLICIT" } },
      { who: "carol", does: "submits", becomes: 403 },
      { who: "parent", does: "approves", becomes: 400, says: /organization mismatch/ },
      { who: "parent", does: "rejects", becomes: 400, says: /organization mismatch/ },
      { who: "parent", does: "submits", becomes: 400, says: /organization mismatch/ },
      { who: "bob", does: "approves", becomes: "COMPLETED" },
    ],
  },
  {
    name: "whom no policy names is denied at once",
    people: three,
    policies: both,
    steps: [{ who: "carol", does: "submits", becomes: 403, outcomes: { both: "DENY_IMPLICIT" } }],
  },
  {
    name: "one rejection ends it",
    people: three,
    policies: both,
    steps: [
      { who: "ada", does: "submits", ...waiting, may: { root, ada: "r", bob: "ar" } },
      { who: "bob", does: "rejects", becomes: "REJECTED" },
      { who: "ada", does: "approves", becomes: 400, says: /REJECTED/ },
      { who: "root", does: "approves", becomes: 400, says: /REJECTED/ },
    ],
  },
  {
    name: "who asked may take it back",
    people: three,
    policies: both,
    steps: [
      { who: "ada", does: "submits", ...waiting, may: { root, ada: "r", bob: "ar" } },
      { who: "ada", does: "rejects", becomes: "REJECTED" },
      { who: "bob", does: "approves", becomes: 400 },
    ],
  },
  {
    name: "any two",
    people: three,
    policies: { any: { consensus: "approvers.count() >= 2" } },
    steps: [
      {
        who: "ada",
        does: "submits",
        becomes: CONSENSUS,
        outcomes: { any: "REQUIRES_CONSENSUS" },
        may: { root, ada: "r", bob: "ar", carol: "ar", stranger: "ar" },
      },
      { who: "stranger", does: "approves", becomes: "COMPLETED", outcomes: { any: "ALLOW" } },
    ],
  },
  {
    name: "quorums by tag",
    people: { ada: { tags: ["lead"] }, bob: { tags: ["ops"] }, carol: { tags: ["ops"] }, dan: { tags: ["lead"] } },
    policies: { tags: { consensus: `${tagged("lead")} >= 1 && ${tagged("ops")} >= 2` } },
    steps: [
      {
        who: "ada",
        does: "submits",
        becomes: CONSENSUS,
        outcomes: { tags: "REQUIRES_CONSENSUS" },
        may: { root, ada: "r", bob: "ar", carol: "ar", dan: "ar" },
      },
      { who: "dan", does: "approves", becomes: CONSENSUS, may: { root, ada: "r", bob: "ar", carol: "ar", dan: "r" } },
      { who: "bob", does: "approves", becomes: CONSENSUS, may: { root, ada: "r", bob: "r", carol: "ar", dan: "r" } },
      { who: "carol", does: "approves", becomes: "COMPLETED", outcomes: { tags: "ALLOW" } },
    ],
  },
  {
    name: "one user with two tags counts for both",
    people: { ada: { tags: ["lead", "ops"] }, bob: { tags: ["ops"] } },
    policies: { tags: { consensus: `${tagged("lead")} >= 1 && ${tagged("ops")} >= 2` } },
    steps: [
      { who: "bob", does: "submits", becomes: CONSENSUS, may: { root, ada: "ar", bob: "r" } },
      { who: "ada", does: "approves", becomes: "COMPLETED" },
    ],
  },
  {
    name: "an approver who loses the tag counts no more, and counts again with it",
    people: { ada: { tags: ["ops"] }, bob: { tags: ["ops"] }, carol: { tags: ["ops"] }, dan: { tags: ["ops"] } },
    policies: { tags: { consensus: `${tagged("ops")} >= 3` } },
    steps: [
      { who: "ada", does: "submits", becomes: CONSENSUS, may: { root, ada: "r", bob: "ar", carol: "ar", dan: "ar" } },
      { who: "bob", does: "approves", becomes: CONSENSUS, may: { root, ada: "r", bob: "r", carol: "ar", dan: "ar" } },
      { meanwhile: removeFrom("ops", "bob") },
      { who: "carol", does: "approves", becomes: CONSENSUS, may: { root, ada: "r", carol: "r", dan: "ar" } },
      { who: "bob", does: "approves", becomes: CONSENSUS, may: { root, ada: "r", carol: "r", dan: "ar" } },
      { who: "bob", does: "rejects", becomes: 403 },
      { who: "dan", does: "approves", becomes: "COMPLETED", outcomes: { tags: "ALLOW" } },
    ],
  },
  {
    name: "an approver who is deleted counts no more",
    people: { ada: { tags: ["ops"] }, bob: { tags: ["ops"] }, carol: { tags: ["ops"] }, dan: { tags: ["ops"] } },
    policies: { tags: { consensus: `${tagged("ops")} >= 3` } },
    steps: [
      { who: "ada", does: "submits", becomes: CONSENSUS, may: { root, ada: "r", bob: "ar", carol: "ar", dan: "ar" } },
      { who: "bob", does: "approves", becomes: CONSENSUS, may: { root, ada: "r", bob: "r", carol: "ar", dan: "ar" } },
      { meanwhile: ["delete_users", { userIds: ["{bob}"] }] },
      { who: "carol", does: "approves", becomes: CONSENSUS, may: { root, ada: "r", carol: "r", dan: "ar" } },
      { who: "dan", does: "approves", becomes: "COMPLETED" },
    ],
  },
  {
    name: "who asked is deleted, and the others carry it alone",
    people: { ada: { tags: ["ops"] }, bob: { tags: ["ops"] }, carol: { tags: ["ops"] } },
    policies: { tags: { consensus: `${tagged("ops")} >= 2` } },
    steps: [
      { who: "ada", does: "submits", becomes: CONSENSUS, may: { root, ada: "r", bob: "ar", carol: "ar" } },
      { meanwhile: ["delete_users", { userIds: ["{ada}"] }] },
      { who: "bob", does: "approves", becomes: CONSENSUS, may: { root, bob: "r", carol: "ar" } },
      { who: "carol", does: "approves", becomes: "COMPLETED" },
    ],
  },
  {
    name: "approvals lapse after a day, and are given again",
    people: three,
    policies: both,
    steps: [
      { who: "ada", does: "submits", ...waiting, may: { root, ada: "r", bob: "ar" } },
      { hoursLater: 24 },
      { who: "bob", does: "approves", ...waiting, may: { root, ada: "ar", bob: "r" } },
      { hoursLater: 23 },
      { who: "ada", does: "approves", becomes: "COMPLETED", outcomes: { both: "ALLOW" } },
    ],
  },
  {
    name: "approvals hold for less than a day",
    people: three,
    policies: both,
    steps: [
      { who: "ada", does: "submits", ...waiting, may: { root, ada: "r", bob: "ar" } },
      { hoursLater: 23 },
      { who: "bob", does: "approves", becomes: "COMPLETED" },
    ],
  },
  {
    name: "the policy names another: the decision is made afresh",
    people: three,
    policies: both,
    steps: [
      { who: "ada", does: "submits", ...waiting, may: { root, ada: "r", bob: "ar" } },
      { meanwhile: ["update_policy", { policyId: "{both}", policyConsensus: `${is("ada")} && ${is("carol")}` }] },
      { who: "bob", does: "approves", becomes: 403 },
      { who: "carol", does: "approves", becomes: "COMPLETED" },
    ],
  },
  {
    name: "the policy asks for fewer: whoever votes next brings it about, and who asked may",
    people: three,
    policies: both,
    steps: [
      { who: "ada", does: "submits", ...waiting, may: { root, ada: "r", bob: "ar" } },
      { meanwhile: ["update_policy", { policyId: "{both}", policyConsensus: is("ada") }] },
      { who: "bob", does: "rejects", becomes: 403 },
      { who: "ada", does: "approves", becomes: "COMPLETED", outcomes: { both: "ALLOW" } },
    ],
  },
  {
    name: "the policy asks for fewer: the vote that was waited for",
    people: three,
    policies: both,
    steps: [
      { who: "ada", does: "submits", ...waiting, may: { root, ada: "r", bob: "ar" } },
      { meanwhile: ["update_policy", { policyId: "{both}", policyConsensus: is("ada") }] },
      { who: "bob", does: "approves", becomes: "COMPLETED", outcomes: { both: "ALLOW" } },
    ],
  },
  {
    name: "the policy is gone: only the root quorum decides",
    people: three,
    policies: both,
    steps: [
      { who: "ada", does: "submits", ...waiting, may: { root, ada: "r", bob: "ar" } },
      { meanwhile: ["delete_policy", { policyId: "{both}" }] },
      { who: "bob", does: "approves", becomes: 403 },
      { who: "root", does: "approves", becomes: "COMPLETED" },
    ],
  },
  {
    name: "a denying policy comes between the votes",
    people: three,
    policies: { ...both, freeze: { effect: "DENY", condition: "activity.action == 'EXPORT'" } },
    steps: [
      { who: "ada", does: "submits", becomes: CONSENSUS, may: { root, ada: "r", bob: "ar" } },
      { meanwhile: ["update_policy", { policyId: "{freeze}", policyCondition: "activity.action == 'SIGN'" }] },
      { who: "bob", does: "approves", becomes: 403, outcomes: { both: "REQUIRES_CONSENSUS", freeze: "DENY_EXPLICIT" } },
      { meanwhile: ["delete_policy", { policyId: "{freeze}" }] },
      { who: "bob", does: "approves", becomes: "COMPLETED" },
    ],
  },
  {
    name: "a denial beats an allowance, and the root quorum both",
    people: three,
    policies: { allow: { consensus: is("ada") }, deny: { effect: "DENY", consensus: is("ada") } },
    steps: [
      { who: "ada", does: "submits", becomes: 403, outcomes: { allow: "ALLOW", deny: "DENY_EXPLICIT" } },
      { who: "ada", does: "submits", becomes: 403, outcomes: { allow: "ALLOW", deny: "DENY_EXPLICIT" } },
    ],
  },
  {
    name: "the root user alone is the root quorum",
    people: three,
    policies: { deny: { effect: "DENY" } },
    steps: [{ who: "root", does: "submits", becomes: "COMPLETED", outcomes: {} }],
  },
  {
    name: "an allowance beats a consensus that another policy waits for",
    people: three,
    policies: { ...both, alone: { consensus: is("ada") } },
    steps: [
      { who: "ada", does: "submits", becomes: "COMPLETED", outcomes: { both: "REQUIRES_CONSENSUS", alone: "ALLOW" } },
    ],
  },
  {
    name: "what cannot be evaluated allows nothing and spoils nothing",
    people: three,
    policies: {
      broken: { condition: "wallet.id == 'w' || private_key.id == '{key}'", consensus: is("ada") },
      alone: { consensus: is("bob") },
    },
    steps: [
      { who: "ada", does: "submits", becomes: 403, outcomes: { broken: "ERROR", alone: "DENY_IMPLICIT" } },
      { who: "ada", does: "submits", becomes: 403, says: /cannot be evaluated/ },
    ],
  },
  {
    name: "what cannot be evaluated denies where it would deny",
    people: three,
    policies: {
      broken: { effect: "DENY", condition: "private_key.label[0..1000] == 'x'" },
      alone: { consensus: is("bob") },
    },
    steps: [
      {
        who: "bob",
        does: "submits",
        becomes: 403,
        outcomes: { broken: "ERROR", alone: "ALLOW" },
        says: /out of range: .* As it is a denying policy, it denies\./,
      },
    ],
  },
  {
    name: "a denial is for what it can see: what it lacks does not deny what has no such thing",
    people: three,
    policies: {
      fee: { effect: "DENY", condition: "bitcoin.tx.fee > 50000" },
      payee: { effect: "DENY", condition: "solana.tx.transfers.any(transfer, transfer.to == 'X')" },
      value: { effect: "DENY", condition: "eth.tx.value > 5 || wallet.label == 'cold'" },
      alone: { consensus: is("bob") },
    },
    steps: [
      {
        who: "bob",
        does: "submits",
        becomes: "COMPLETED",
        outcomes: { fee: "ERROR", payee: "ERROR", value: "ERROR", alone: "ALLOW" },
      },
    ],
  },
  {
    name: "both kinds of error together deny",
    people: three,
    policies: {
      both: { effect: "DENY", condition: "eth.tx.value > 5 || private_key.tags[0] == 'x'" },
      alone: { consensus: is("bob") },
    },
    steps: [{ who: "bob", does: "submits", becomes: 403, outcomes: { both: "ERROR", alone: "ALLOW" } }],
  },
  {
    name: "a guard on raw payloads guards these, and locks out nothing else",
    people: three,
    policies: {
      guard: {
        effect: "DENY",
        condition:
          "activity.type == 'ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2' && activity.params.hash_function == 'HASH_FUNCTION_NO_OP'",
      },
      alone: { condition: "true", consensus: is("bob") },
    },
    activity: ["delete_users", { userIds: ["{carol}"] }],
    steps: [{ who: "bob", does: "submits", becomes: "COMPLETED", outcomes: { guard: "ERROR", alone: "ALLOW" } }],
  },
  {
    name: "policies out of their time are not there, denying ones too",
    people: three,
    policies: {
      over: { consensus: is("ada"), time: "time.now < Timestamp('2020-01-01T00:00:00Z')" },
      early: { effect: "DENY", time: "time.now > Timestamp('2120-01-01T00:00:00Z')" },
      now: { consensus: is("bob"), time: "time.now >= Timestamp('2020-01-01T00:00:00Z')" },
    },
    steps: [
      {
        who: "bob",
        does: "submits",
        becomes: "COMPLETED",
        outcomes: { over: "TIME_INACTIVE", early: "TIME_INACTIVE", now: "ALLOW" },
      },
    ],
  },
  {
    name: "out of their time they allow nobody",
    people: three,
    policies: { over: { consensus: is("ada"), time: "time.now < Timestamp('2020-01-01T00:00:00Z')" } },
    steps: [{ who: "ada", does: "submits", becomes: 403, outcomes: { over: "TIME_INACTIVE" }, says: /not active now/ }],
  },
  {
    name: "credentials by type: the passkey's stamp is what counts",
    people: { ada: { passkey: true }, bob: {} },
    policies: { passkey: { consensus: passkey } },
    steps: [{ who: "ada+passkey", does: "submits", becomes: "COMPLETED", outcomes: { passkey: "ALLOW" } }],
  },
  {
    name: "credentials by type: the user's other credential does not",
    people: { ada: { passkey: true }, bob: {} },
    policies: { passkey: { consensus: passkey } },
    steps: [{ who: "ada", does: "submits", becomes: 403, outcomes: { passkey: "DENY_IMPLICIT" } }],
  },
  {
    name: "credentials by type in a consensus: an approval with the wrong one is given again with the right one",
    people: { ada: {}, bob: { passkey: true }, carol: {} },
    policies: { passkey: { consensus: `approvers.count() >= 2 && ${passkey}` } },
    steps: [
      {
        who: "ada",
        does: "submits",
        becomes: CONSENSUS,
        may: { root, ada: "r", bob: "ar", carol: "ar", stranger: "ar" },
      },
      {
        who: "bob",
        does: "approves",
        becomes: CONSENSUS,
        may: { root, ada: "r", bob: "r", carol: "ar", stranger: "ar" },
      },
      {
        who: "bob",
        does: "approves",
        becomes: CONSENSUS,
        may: { root, ada: "r", bob: "r", carol: "ar", stranger: "ar" },
      },
      { who: "bob+passkey", does: "approves", becomes: "COMPLETED" },
    ],
  },
  {
    name: "credentials by public key",
    people: three,
    policies: { withKey: { consensus: "credentials.any(c, c.public_key == '{ada.key}') && approvers.count() >= 2" } },
    steps: [
      {
        who: "bob",
        does: "submits",
        becomes: CONSENSUS,
        may: { root, ada: "ar", bob: "r", carol: "ar", stranger: "ar" },
      },
      { who: "ada", does: "approves", becomes: "COMPLETED" },
    ],
  },
  {
    name: "a root quorum of two: one member waits for another, whom no policy can replace",
    people: three,
    quorum,
    policies: { any: { consensus: "true", condition: "true" } },
    activity: rename,
    steps: [
      { who: "root", does: "submits", becomes: CONSENSUS, outcomes: {}, may: { root: "r", ada: "ar" } },
      { who: "bob", does: "approves", becomes: 403, says: /root quorum/ },
      { who: "root", does: "approves", becomes: CONSENSUS, may: { root: "r", ada: "ar" } },
      { who: "ada", does: "approves", becomes: "COMPLETED", outcomes: {} },
    ],
  },
  {
    name: "what the root quorum alone decides says so to others",
    people: three,
    activity: rename,
    steps: [{ who: "bob", does: "submits", becomes: 403, outcomes: {}, says: /root quorum/ }],
  },
  {
    name: "a denial without policies says what could be done",
    people: three,
    steps: [{ who: "bob", does: "submits", becomes: 403, outcomes: {}, says: /has no policies/ }],
  },
  {
    name: "a member of a short quorum who leaves it counts no more",
    people: three,
    quorum: { threshold: 2, members: ["root", "ada", "bob"] },
    activity: rename,
    steps: [
      { who: "bob", does: "submits", becomes: CONSENSUS, may: { root: "ar", ada: "ar", bob: "r" } },
      { meanwhile: ["update_root_quorum", { threshold: 2, userIds: ["{root}", "{ada}"] }] },
      { who: "root", does: "approves", becomes: CONSENSUS, may: { root: "r", ada: "ar", bob: "r" } },
      { who: "ada", does: "approves", becomes: "COMPLETED" },
    ],
  },
  {
    name: "approvals of the root quorum lapse too",
    people: three,
    quorum,
    activity: rename,
    steps: [
      { who: "root", does: "submits", becomes: CONSENSUS, may: { root: "r", ada: "ar" } },
      { hoursLater: 25 },
      { who: "ada", does: "approves", becomes: CONSENSUS, may: { root: "ar", ada: "r" } },
      { who: "root", does: "approves", becomes: "COMPLETED" },
    ],
  },
  {
    name: "a policy allows a member whose quorum is short",
    people: three,
    quorum,
    policies: { alone: { consensus: is("ada") } },
    steps: [{ who: "ada", does: "submits", becomes: "COMPLETED", outcomes: { alone: "ALLOW" } }],
  },
  {
    name: "what a policy denies a member waits for the quorum, which overrules it",
    people: three,
    quorum,
    policies: { deny: { effect: "DENY" } },
    steps: [
      {
        who: "ada",
        does: "submits",
        becomes: CONSENSUS,
        outcomes: { deny: "DENY_EXPLICIT" },
        may: { root: "ar", ada: "r" },
      },
      { who: "root", does: "approves", becomes: "COMPLETED" },
    ],
  },
  {
    name: "users manage their own credentials",
    people: three,
    activity: ["create_api_keys", { userId: "{ada}", apiKeys: [newKey] }],
    steps: [{ who: "ada", does: "submits", becomes: "COMPLETED" }],
  },
  {
    name: "members of a short quorum too",
    people: three,
    quorum,
    activity: ["create_api_keys", { userId: "{ada}", apiKeys: [newKey] }],
    steps: [{ who: "ada", does: "submits", becomes: "COMPLETED" }],
  },
  {
    name: "but not those of others",
    people: three,
    activity: ["create_api_keys", { userId: "{ada}", apiKeys: [newKey] }],
    steps: [{ who: "bob", does: "submits", becomes: 403 }],
  },
  {
    name: "a policy that takes consensus takes it for one's own credentials too",
    people: three,
    policies: { four: { condition: "activity.resource == 'CREDENTIAL'", consensus: `${is("ada")} && ${is("bob")}` } },
    activity: ["create_api_keys", { userId: "{ada}", apiKeys: [newKey] }],
    steps: [
      { who: "ada", does: "submits", becomes: CONSENSUS, may: { root, ada: "r", bob: "ar" } },
      { who: "bob", does: "approves", becomes: "COMPLETED" },
    ],
  },
  {
    name: "conditions on parameters",
    people: three,
    policies: {
      one: {
        condition:
          "activity.type == 'ACTIVITY_TYPE_DELETE_USERS' && activity.params.user_ids.count() == 1 && '{carol}' in activity.params.user_ids",
        consensus: is("ada"),
      },
    },
    activity: ["delete_users", { userIds: ["{carol}"] }],
    steps: [{ who: "bob", does: "submits", becomes: 403, outcomes: { one: "DENY_IMPLICIT" } }],
  },
  {
    name: "conditions on parameters, for whom they are meant",
    people: three,
    policies: {
      one: {
        condition:
          "activity.type == 'ACTIVITY_TYPE_DELETE_USERS' && activity.params.user_ids.count() == 1 && '{carol}' in activity.params.user_ids",
        consensus: is("ada"),
      },
    },
    activity: ["delete_users", { userIds: ["{carol}"] }],
    steps: [{ who: "ada", does: "submits", becomes: "COMPLETED", outcomes: { one: "ALLOW" } }],
  },
  {
    name: "the key is gone when the last vote comes",
    people: three,
    policies: both,
    steps: [
      { who: "ada", does: "submits", ...waiting, may: { root, ada: "r", bob: "ar" } },
      { meanwhile: ["delete_private_keys", { privateKeyIds: ["{key}"], deleteWithoutExport: true }] },
      { who: "bob", does: "approves", becomes: "FAILED" },
    ],
  },
];

for (const engine of engines) {
  describe(`who may do what, vote by vote (${engine})`, () => {
    const clock: MovedClock = { offsetMs: 0 };
    let server: TestServer;
    before(async () => {
      server = await startTestServer(engine, { clock: () => Date.now() + clock.offsetMs });
    });
    after(() => server.close());
    for (const scenario of scenarios) it(scenario.name, () => play(server, clock, scenario));
  });
}

import { Text } from "@mantine/core";
import { useAnswer } from "../api/hooks.ts";
import { Answered } from "../parts/answered.tsx";
import { CHAIN_NAMES } from "../parts/chains.ts";
import { Page } from "../parts/page.tsx";
import { ScrollTable } from "../parts/scroll-table.tsx";
import { Section } from "../parts/section.tsx";
import { TableRow } from "../parts/table-row.tsx";
import { Copyable, Mark, Name, When, wordsOf } from "../parts/texts.tsx";

/** What the organization has beside keys and wallets, and the state of each. */
export const Products = () => (
  <Page title="Products">
    <Earn />
    <OnRamp />
    <Deployments />
  </Page>
);

const DEPLOY_COLORS = { PENDING: "yellow", COMPLETED: "teal", FAILED: "red" };

function Earn() {
  const answer = useAnswer("list_earn_enabled_vaults", {});
  return (
    <Section title="Earn">
      <Answered to={answer}>
        {({ enabledVaults }) =>
          enabledVaults.length === 0 ? (
            <Text c="dimmed">No vault is enabled. earn_deploy_wrapper enables one of the catalog.</Text>
          ) : (
            <ScrollTable caption="Earn" head={["Vault", "Chain", "Wrapper", "State", "Deposited"]}>
              {enabledVaults.map(({ deployRequestId, name, caip19, wrapperAddress, ...vault }) => (
                <TableRow
                  key={deployRequestId}
                  cells={[
                    <Name key="name">{name}</Name>,
                    chainOf(caip19),
                    <Copyable key="wrapper" text={wrapperAddress} label="wrapper" />,
                    <Mark key="state" color={DEPLOY_COLORS[vault.deployStatus]}>
                      {vault.depositsDisabled ? "takes no deposits" : vault.deployStatus.toLowerCase()}
                    </Mark>,
                    vault.display.crypto ?? vault.totalDeposited,
                  ]}
                />
              ))}
            </ScrollTable>
          )
        }
      </Answered>
    </Section>
  );
}

/** What a CAIP-19 name begins with says the chain. */
function chainOf(caip19: string): string {
  const [caip2 = caip19] = caip19.split("/");
  return CHAIN_NAMES[caip2] ?? caip2;
}

function OnRamp() {
  const answer = useAnswer("list_fiat_on_ramp_credentials", {});
  return (
    <Section title="On-ramp">
      <Answered to={answer}>
        {({ fiatOnRampCredentials }) =>
          fiatOnRampCredentials.length === 0 ? (
            <Text c="dimmed">There is no provider. create_fiat_on_ramp_credential adds one.</Text>
          ) : (
            <ScrollTable caption="On-ramp" head={["Provider", "Key", "Kind", "Changed"]}>
              {fiatOnRampCredentials.map((credential) => (
                <TableRow
                  key={credential.fiatOnrampCredentialId}
                  cells={[
                    wordsOf(credential.onrampProvider, "FIAT_ON_RAMP_PROVIDER_"),
                    <Copyable key="key" text={credential.publishableApiKey} label="publishable key" />,
                    credential.sandboxMode ? "sandbox" : "real money",
                    <When key="changed" at={credential.updatedAt} />,
                  ]}
                />
              ))}
            </ScrollTable>
          )
        }
      </Answered>
    </Section>
  );
}

function Deployments() {
  const answer = useAnswer("list_tvc_apps", {});
  return (
    <Section title="Deployments">
      <Answered to={answer}>
        {({ tvcApps }) =>
          tvcApps.length === 0 ? (
            <Text c="dimmed">There is no app. create_tvc_app makes one, where this server runs deployments.</Text>
          ) : (
            <ScrollTable caption="Deployments" head={["App", "Domain", "State", "Id", "Changed"]}>
              {tvcApps.map(({ id, name, publicDomain, liveDeploymentId, updatedAt }) => (
                <TableRow
                  key={id}
                  cells={[
                    <Name key="name">{name}</Name>,
                    <Name key="domain">{publicDomain}</Name>,
                    <Mark key="state" color={liveDeploymentId === undefined ? "gray" : "teal"}>
                      {liveDeploymentId === undefined ? "nothing is live" : "live"}
                    </Mark>,
                    <Copyable key="id" text={id} label="app id" />,
                    <When key="changed" at={updatedAt} />,
                  ]}
                />
              ))}
            </ScrollTable>
          )
        }
      </Answered>
    </Section>
  );
}

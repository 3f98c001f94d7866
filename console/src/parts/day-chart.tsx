import { Group, Stack, Text, Title } from "@mantine/core";
import { ScrollTable } from "./scroll-table.tsx";
import { TableRow } from "./table-row.tsx";

/** Some of a day, by name. */
export interface DayCount {
  /** As 2026-11-22. */
  day: string;
  name: string;
  count: number;
}

interface DayChartProps {
  title: string;
  days: readonly string[];
  counts: readonly DayCount[];
  label: (name: string) => string;
  /** Names that have a colour for what they mean; the others take theirs in turn. */
  colors?: Record<string, string>;
}

const WIDTH = 600;
const HEIGHT = 140;
const GAP = 3;
/** Told apart by those who see no colours as well: no two have the same lightness. */
const IN_TURN = ["blue-8", "orange-5", "violet-7", "teal-4", "pink-9", "gray-5", "lime-8", "cyan-3"];

interface Series {
  name: string;
  color: string;
  total: number;
}

/** Bars for each day, one part for each name; the same figures are below it as a table. */
export function DayChart({ title, days, counts, label, colors = {} }: DayChartProps) {
  const series = seriesOf(counts, colors);
  const countOf = new Map(counts.map(({ day, name, count }) => [`${day} ${name}`, count]));
  const figures = days.map((day) => ({ day, counts: series.map(({ name }) => countOf.get(`${day} ${name}`) ?? 0) }));
  return (
    <Stack gap={4} component="figure" m={0}>
      <Title order={3} size="h5">
        {title}
      </Title>
      {series.length === 0 ? (
        <Text c="dimmed">None in this period.</Text>
      ) : (
        <>
          <Bars title={title} figures={figures} series={series} />
          <Group gap="md" component="figcaption">
            {series.map(({ name, color, total }) => (
              <Text key={name} size="sm" component="span">
                <Swatch color={color} /> {label(name)}: {total.toLocaleString()}
              </Text>
            ))}
          </Group>
          <details>
            <summary>{title} as a table</summary>
            <ScrollTable caption={title} head={["Day", ...series.map(({ name }) => label(name))]} minWidth={320}>
              {figures
                .filter((figure) => figure.counts.some((count) => count > 0))
                .map((figure) => (
                  <TableRow
                    key={figure.day}
                    cells={[figure.day, ...figure.counts.map((count) => count.toLocaleString())]}
                  />
                ))}
            </ScrollTable>
          </details>
        </>
      )}
    </Stack>
  );
}

/** Most of them first. */
function seriesOf(counts: readonly DayCount[], colors: Record<string, string>): Series[] {
  const totals = new Map<string, number>();
  for (const { name, count } of counts) totals.set(name, (totals.get(name) ?? 0) + count);
  return [...totals]
    .sort(([, one], [, other]) => other - one)
    .map(([name, total], index) => ({
      name,
      total,
      color: colors[name] ?? IN_TURN[index % IN_TURN.length] ?? "gray-6",
    }));
}

interface BarsProps {
  title: string;
  figures: readonly { day: string; counts: readonly number[] }[];
  series: readonly Series[];
}

const sumOf = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count, 0);

function Bars({ title, figures, series }: BarsProps) {
  const most = Math.max(1, ...figures.map(({ counts }) => sumOf(counts)));
  const width = WIDTH / Math.max(1, figures.length);
  const first = figures[0]?.day ?? "";
  const last = figures.at(-1)?.day ?? "";
  return (
    <div>
      <svg
        className="chart"
        role="img"
        aria-label={`${title}, from ${first} to ${last}, at most ${most.toLocaleString()} on a day`}
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
      >
        {figures.map(({ day, counts }, place) => (
          <g key={day}>
            {counts.map((count, index) => {
              const height = (count / most) * HEIGHT;
              const below = (sumOf(counts.slice(0, index)) / most) * HEIGHT;
              const color = series[index]?.color ?? "gray-6";
              return (
                count > 0 && (
                  <rect
                    key={series[index]?.name}
                    x={place * width + GAP / 2}
                    y={HEIGHT - below - height}
                    width={width - GAP}
                    height={height}
                    fill={`var(--mantine-color-${color})`}
                  >
                    <title>{`${day}: ${count.toLocaleString()}`}</title>
                  </rect>
                )
              );
            })}
          </g>
        ))}
      </svg>
      <Group justify="space-between" gap={4} wrap="nowrap" aria-hidden>
        <Text size="xs" c="dimmed">
          {first}
        </Text>
        <Text size="xs" c="dimmed">
          at most {most.toLocaleString()} on a day
        </Text>
        <Text size="xs" c="dimmed">
          {last}
        </Text>
      </Group>
    </div>
  );
}

const Swatch = ({ color }: { color: string }) => (
  <svg className="swatch" viewBox="0 0 10 10" aria-hidden="true">
    <rect width="10" height="10" fill={`var(--mantine-color-${color})`} />
  </svg>
);

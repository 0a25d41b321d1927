// Lantern's predictions of load times: Lighthouse's simulator on a profile's own recording.
//
// usage: node lantern.mjs FOLDER   (FOLDER has node_modules/lighthouse, version 12)
//
// Reads one JSON request on standard input: {trace, log, url, protocol, networks: [{rtt_ms, rate_bps}]},
// where trace and log name files, and prints the times in ms, one for each network.
//
// The page dependency graph is Lighthouse's, cut at the load event of the recording: requests that had
// ended and tasks that had begun by then. DNS takes no time on our links, so it takes none here.

import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';

const folder = process.argv[2];
const load = (...parts) => import(pathToFileURL(join(folder, 'node_modules', ...parts)).href);
const core = (name) => load('lighthouse', 'core', ...name.split('/'));

const [lantern, {PageDependencyGraph}, {ProcessedNavigation}, {NetworkAnalysis}, {DNSCache}] =
  await Promise.all([
    core('lib/lantern/lantern.js'),
    core('computed/page-dependency-graph.js'),
    core('computed/processed-navigation.js'),
    core('computed/network-analysis.js'),
    load('@paulirish', 'trace_engine', 'models', 'trace', 'lantern', 'simulation', 'DNSCache.js'),
  ]);

const request = JSON.parse(readFileSync(0, 'utf8'));
const trace = JSON.parse(readFileSync(request.trace, 'utf8'));
const devtoolsLog = JSON.parse(readFileSync(request.log, 'utf8'));
DNSCache.rttMultiplier = 0;

const context = {computedCache: new Map()};
const URL_ = {
  requestedUrl: request.url, mainDocumentUrl: request.url, finalDisplayedUrl: request.url,
};
const whole = await PageDependencyGraph.request(
  {trace, devtoolsLog, settings: {}, URL: URL_, SourceMaps: [], fromTrace: false}, context);
const navigation = await ProcessedNavigation.request(trace, context);
const analysis = await NetworkAnalysis.request(devtoolsLog, context);

// Microseconds on the trace's clock.
const loaded = navigation.timestamps.load;
const graph = whole.cloneWithRelationships((node) =>
  node.type === 'network' ? node.endTime <= loaded : node.startTime <= loaded);
graph.traverse((node) => {
  if (node.type === 'network') node.request.protocol = request.protocol;
});

const times = request.networks.map(({rtt_ms, rate_bps}) => {
  const simulator = new lantern.Simulation.Simulator({
    rtt: rtt_ms,
    throughput: rate_bps,
    cpuSlowdownMultiplier: 1,
    additionalRttByOrigin: new Map(),
    serverResponseTimeByOrigin: analysis.serverResponseTimeByOrigin,
  });
  return simulator.simulate(graph).timeInMs;
});
process.stdout.write(JSON.stringify(times) + '\n');

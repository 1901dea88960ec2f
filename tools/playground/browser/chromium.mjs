// Chromium without a window, by its DevTools protocol over a pipe, so no package is needed. Knows nothing of the page.
import { spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PATIENCE_MS = 60000, CLOSING_MS = 10000;

export class Chromium {
    #process; #folder; #session; #next = 1; #rest = '';
    #waiting = new Map();
    messages = [];              // Messages of the console, and exceptions that nobody caught.

    static async start(program) {
        const chromium = new Chromium();
        chromium.#folder = mkdtempSync(join(tmpdir(), 'redlock-page-'));
        chromium.#process = spawn(program, ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run',
            '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-extensions', '--mute-audio',
            `--user-data-dir=${chromium.#folder}`, '--remote-debugging-pipe', 'about:blank'],
        { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
        chromium.#process.stdio[4].on('data', data => chromium.#read(data.toString()));
        chromium.#process.on('exit', () => chromium.#fail(new Error('Chromium has ended')));
        const { targetInfos } = await chromium.send('Target.getTargets');
        const { targetId } = targetInfos.find(target => target.type === 'page');
        chromium.#session = (await chromium.send('Target.attachToTarget', { targetId, flatten: true })).sessionId;
        for (const domain of ['Page', 'Runtime', 'Log']) await chromium.send(`${domain}.enable`);
        await chromium.send('Emulation.setFocusEmulationEnabled', { enabled: true });
        return chromium;
    }

    // Told to close it ends its helpers first, which write into its folder until then.
    async stop() {
        const ended = new Promise(resolve => this.#process.once('exit', resolve));
        const timer = setTimeout(() => this.#process.kill('SIGKILL'), CLOSING_MS);
        this.send('Browser.close').catch(() => {});
        await ended;
        clearTimeout(timer);
        await rm(this.#folder, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 }).catch(() => {});
    }

    send(method, params = {}) {
        const id = this.#next++;
        this.#process.stdio[3].write(JSON.stringify({ id, method, params, sessionId: this.#session }) + '\0');
        return new Promise((resolve, reject) => {
            const timer = setTimeout(() => reject(new Error(`${method}: no answer within ${PATIENCE_MS / 1000} s`)), PATIENCE_MS);
            this.#waiting.set(id, { resolve, reject, timer });
        });
    }

    // Loads it, also if the address differs in its fragment alone.
    async open(address) {
        await this.send('Page.navigate', { url: 'about:blank' });
        await this.send('Page.navigate', { url: address });
        const known = this.messages.length;
        await this.until('!!window.playground', 30, () => {
            if (this.messages.length > known) throw new Error(this.messages[known]);    // It will never be there.
        });
    }

    // A page that is not the playground.
    async show(address) {
        await this.send('Page.navigate', { url: address });
        await this.until(`location.href === ${JSON.stringify(address)} && document.readyState === 'complete'`);
    }

    // The value of an expression, which may be a promise.
    async evaluate(expression) {
        const { result, exceptionDetails } = await this.send('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true });
        if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
        return result.value;
    }

    async until(condition, seconds = 30, look = () => {}) {
        const end = Date.now() + seconds * 1000;
        while (!await this.evaluate(condition)) {
            look();
            if (Date.now() > end) throw new Error(`not within ${seconds} s: ${condition}`);
            await new Promise(resolve => setTimeout(resolve, 20));
        }
    }

    async press(key, code = key, text = undefined) {
        const windowsVirtualKeyCode = { Enter: 13, Tab: 9, ' ': 32, Escape: 27, ArrowRight: 39, ArrowLeft: 37 }[key] ?? key.toUpperCase().charCodeAt(0);
        const keyText = text ?? (key === 'Enter' ? '\r' : key.length === 1 ? key : undefined);
        await this.send('Input.dispatchKeyEvent', { type: 'keyDown', key, code, windowsVirtualKeyCode, text: keyText });
        await this.send('Input.dispatchKeyEvent', { type: 'keyUp', key, code, windowsVirtualKeyCode });
    }

    async look(width, height, scheme = 'light', motion = 'no-preference') {
        await this.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: width < 600 });
        await this.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme },
                                                                   { name: 'prefers-reduced-motion', value: motion }] });
        await this.send('Emulation.setTouchEmulationEnabled', { enabled: false });
    }

    // A device without a pointer that could rest upon something.
    async lookByTouch(width, height, scheme, motion) {
        await this.look(width, height, scheme, motion);
        await this.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: true });
        await this.send('Emulation.setTouchEmulationEnabled', { enabled: true, maxTouchPoints: 2 });
    }

    async touch(type, ...points) {
        await this.send('Input.dispatchTouchEvent', { type: `touch${type}`, touchPoints: points.map(({ x, y }) => ({ x, y })) });
    }

    async tap(point) {
        await this.touch('Start', point);
        await this.touch('End');
    }

    // It waits until the page stands still, since while the page slides on by itself it takes a tap for its end.
    async swipe(from, to, moves = 12) {
        const between = share => ({ x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share });
        await this.touch('Start', from);
        for (let i = 1; i <= moves; i++) await this.touch('Move', between(i / moves));
        for (const rests of [1, 2]) {
            await this.evaluate('new Promise(resolve => setTimeout(resolve, 100))');
            await this.touch('Move', { x: to.x + rests, y: to.y });
        }
        await this.touch('End');
        await this.evaluate(`new Promise(resolve => { let last = scrollY, still = 0;
            requestAnimationFrame(function look() { still = scrollY === last ? still + 1 : 0; last = scrollY; still < 15 ? requestAnimationFrame(look) : resolve(); }); })`);
    }

    // PNG
    async screenshot() {
        return Buffer.from((await this.send('Page.captureScreenshot')).data, 'base64');
    }

    #read(data) {
        const parts = (this.#rest + data).split('\0');
        this.#rest = parts.pop();
        for (const part of parts) this.#take(JSON.parse(part));
    }

    #take({ id, result, error, method, params }) {
        if (method === 'Runtime.consoleAPICalled') this.messages.push(params.args.map(one => one.value ?? one.description).join(' '));
        if (method === 'Runtime.exceptionThrown') this.messages.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
        if (method === 'Log.entryAdded') this.messages.push(params.entry.text);
        const waiting = this.#waiting.get(id);
        if (!waiting) return;
        this.#waiting.delete(id);
        clearTimeout(waiting.timer);
        if (error) waiting.reject(new Error(error.message));
        else waiting.resolve(result);
    }

    #fail(error) {
        for (const { reject, timer } of this.#waiting.values()) {
            clearTimeout(timer);
            reject(error);
        }
        this.#waiting.clear();
    }
}

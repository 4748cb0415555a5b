import { show } from '../shell.js';
import { LivePage } from './live-page.js';

show('live', <LivePage />);
